"""What a run has learned: marginals with their errors, and whether to believe them."""
