"""Individualisation and refinement."""
