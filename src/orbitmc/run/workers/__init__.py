"""Work of a question on other processes and machines."""
