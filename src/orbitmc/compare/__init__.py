"""How fast samplers approach reference marginals: error curves, figures, symmetry reports."""
