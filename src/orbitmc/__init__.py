"""Marginals of discrete graphical models by Lifted Metropolis-Hastings, with error bars.

Names are loaded when they are first used, so importing the package costs nothing. They are listed
in `__init__.pyi`, here and in each package.
"""

import importlib

from orbitmc._util.loading import load_lazily, renderer
from orbitmc.version import __version__ as __version__

__getattr__, __dir__ = load_lazily(__name__, __file__)
__all__ = __dir__()

renderer.load = lambda: importlib.import_module("orbitmc.report")
