"""Containers with labels for axes: they are rebuilt around arrays of their shape, and Jacobians.

A container with labels is opened into its arrays and a `Template`.  It is rebuilt around arrays of
the same shapes.  With further axes in front, as results of `vmap` and blocks of Jacobians have
them, these get names of their own; any other shape is refused, for labels would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, installed_package, user_frame, user_location
from funcdiff.pytree.registry import Kind, kinds

Shape = tuple[int, ...]


def place() -> str:
    """Return the place in the user's code, which is none of an installed package."""
    frame = user_frame()
    while frame is not None and installed_package(frame):
        frame = frame.f_back
    return user_location(frame)


class Template(Protocol):
    """A container without its arrays: hashable, and equal to one with the same labels."""

    @property
    def shapes(self) -> Sequence[Shape]:
        """Shapes of the arrays."""

    @property
    def paths(self) -> Sequence[str]:
        """Paths of the arrays, empty for the only one."""

    def label(self, arrays: list[Any], extra: int) -> Any:
        """Return the container with these arrays, which have so many further axes in front."""

    def rows(self, blocks: list[Any]) -> Any:
        """Return blocks of a Jacobian, whose first axes are those of this container's arrays."""

    def fits(self, other: Any) -> bool:
        """Whether another one of the class has the same labels; names and attributes may differ."""

    def text(self) -> str:
        """Return the labels, for messages."""

    def without_axes(self, axes: list[int | None]) -> Template | None:
        """Return what is left without one axis of each array, None if that has no labels."""


class Held:
    """Stands for a container with labels around what is no array: flags, or numbers of leaves."""

    def __init__(self, template: Template, children: list[Any]) -> None:
        self.template, self.children = template, children

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.children))})"


def register(open_: Callable[[Any], tuple[list[Any], Template]], cls: type, *others: type) -> None:
    """Make a class with labels, and others that stand for it, containers."""
    held = type(cls.__name__, (Held,), {})

    def close(template: Template, children: list[Any]) -> Any:
        if not all(map(_is_array, children)):
            alone = len(children) == 1 and hasattr(children[0], "shape")  # a sparse matrix, say
            return children[0] if alone else held(template, children)
        return template.label(children, _further_axes(cls, template, children))

    def to_rows(template: Template, blocks: list[Any]) -> Any:
        return template.rows(blocks)

    def slice_(template: Template, axes: list[int | None]) -> Any:
        return template if set(axes) <= {None} else template.without_axes(axes)

    def paths(template: Template, _: int) -> Sequence[str]:
        return template.paths

    def show(template: Template, shown: list[str]) -> str:
        return f"{cls.__name__}({', '.join(shown)}; {template.text()})"

    def fits(a: Template, b: Template) -> bool:
        return a.fits(b)

    kind = Kind(cls, open_, close, paths, show, rows=to_rows, fits=fits, without_axes=slice_)
    of_held = replace(kind, to_children=lambda x: (x.children, x.template))
    for known, found in ((held, of_held), *((c, kind) for c in (cls, *others))):
        kinds.registered[known] = kinds[known] = found


def _is_array(x: Any) -> bool:
    number = isinstance(x, Tracer | np.ndarray | np.generic | float | complex | int)
    return number and not isinstance(x, bool)


def _further_axes(cls: type, template: Template, arrays: list[Any]) -> int:
    """Return how many axes arrays have in front of those of the template."""
    pairs = [(np.shape(x), shape) for x, shape in zip(arrays, template.shapes, strict=True)]
    extra = {len(found) - len(shape) for found, shape in pairs}
    count = extra.pop() if len(extra) == 1 else 0
    if not extra and count >= 0 and all(found[count:] == shape for found, shape in pairs):
        return count
    wanted, found = (", ".join(map(str, shapes)) for shapes in zip(*pairs, strict=True))
    where = "" if len(pairs) == 1 else "s"
    raise InputError(
        f"a {cls.__name__} of shape{where} {found} was to be made with the labels of one of "
        f"shape{where} {wanted}, at {place()}: whose labels would be wrong. Use arrays "
        "there: x.data of xarray's, x.to_numpy() of pandas'."
    )


def over_blocks(tree: Any, f: Callable[[Any], Any]) -> Any:
    """Apply a function to the blocks in a row of a Jacobian: arrays, with labels or without."""
    kind = kinds[type(tree)]
    if kind is None or kind.rows is not None:
        return f(tree)
    children, aux = kind.to_children(tree)
    return kind.from_children(aux, [over_blocks(child, f) for child in children])
