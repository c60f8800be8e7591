"""Random elements of groups."""
