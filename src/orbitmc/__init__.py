"""Marginals of discrete graphical models by Lifted Metropolis-Hastings, with error bars."""

from orbitmc.version import __version__

__all__ = ["__version__"]
