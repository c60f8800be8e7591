"""Which permutations of variables and values leave a distribution as it is."""
