"""Which permutations leave a distribution as it is."""
