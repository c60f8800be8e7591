"""Log-weights of states, and sums that keep their digits."""
