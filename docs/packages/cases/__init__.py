"""The cases, a module for each field, chosen before anything was differentiated."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from docs.packages.case import Case


def fields() -> dict[str, list[Case]]:
    """Return the cases of each field, in the order in which they are written."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        names = vars(import_module(f"{__name__}.{module.name}"))
        found[module.name] = [value for value in names.values() if isinstance(value, Case)]
    return found


def cases() -> list[Case]:
    """Return all cases."""
    return [case for field in fields().values() for case in field]
