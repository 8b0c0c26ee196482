"""Containers and their leaves: any nesting of containers is a flat list and a `Structure`.

Containers are ``list``, ``tuple``, ``deque``, ``dict``, ``OrderedDict``, ``defaultdict``,
``SimpleNamespace``, named tuples, instances of dataclasses and of attrs classes, ``None`` (a
container of nothing), and every class given to `register`. All else is a leaf, subclasses of the
standard containers included: a class is known by its exact type. A dict is taken in its own order
and its keys are never compared or sorted.
"""

from funcdiff.pytree.registry import register
from funcdiff.pytree.structure import (
    LEAF,
    Structure,
    flatten,
    flatten_with_paths,
    map,  # noqa: A004
    paths,
    unflatten,
)

__all__ = [
    "LEAF",
    "Structure",
    "flatten",
    "flatten_with_paths",
    "map",
    "paths",
    "register",
    "unflatten",
]
