"""Questions beside marginals, one in each file."""
