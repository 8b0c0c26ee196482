"""Registers all NumPy functions for traced arrays; imported when a rare one is called.

What most functions of users call is imported with the package.
"""

from importlib import import_module
from pkgutil import walk_packages

from funcdiff import numpy

for _module in walk_packages(numpy.__path__, f"{numpy.__name__}."):
    import_module(_module.name)
