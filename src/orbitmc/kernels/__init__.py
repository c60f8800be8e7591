"""One Markov step at a time; each kernel leaves the distribution of its graph unchanged."""
