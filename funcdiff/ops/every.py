"""Declares every primitive: imported when one is looked up by a name that is not known yet.

Modules of operations are imported by what applies them.  A program that was parsed or unpickled
may come before anything does.
"""

from importlib import import_module
from pkgutil import walk_packages

from funcdiff import ops

for _module in walk_packages(ops.__path__, f"{ops.__name__}."):
    import_module(_module.name)
