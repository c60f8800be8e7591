"""Bayesian networks of other programs: Hugin and GeNIe."""
