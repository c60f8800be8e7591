"""Many rows of evidence about the same variables: one elimination with an axis of rows."""
