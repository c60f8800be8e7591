"""Whether a run uses control variates, and how often it looks at its chains."""
