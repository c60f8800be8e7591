"""What to sample: factor graphs, the names people use for them, and evidence."""
