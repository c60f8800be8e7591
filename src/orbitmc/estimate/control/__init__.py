"""Control variates: estimates with less noise than averages of conditional probabilities."""
