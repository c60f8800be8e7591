"""Kernels made of kernels: mixtures, alternation, tempering."""
