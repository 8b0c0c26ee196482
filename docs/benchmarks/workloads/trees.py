"""Containers of arguments, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def converted(f: Callable[[Any], Any], tree: Any) -> Any:
    """Return lists, tuples and dicts with `f` of their leaves."""
    if isinstance(tree, dict):
        return {key: converted(f, child) for key, child in tree.items()}
    if isinstance(tree, list | tuple):
        return type(tree)(converted(f, child) for child in tree)
    return f(tree)
