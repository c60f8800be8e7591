"""Block Gibbs on one-hot groups."""
