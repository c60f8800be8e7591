"""Low-width block Gibbs: draw many variables at once, exactly given the others."""
