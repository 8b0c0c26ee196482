"""The typed paths of the transforms: what a type checker knows of them.

A transform is a plain function of `Any` in a module of its own, and has here its signature:
`typed_as` shows it so to a checker, and does nothing when the program runs.  Transforms with the
same parameters share a class of paths, of which the first that fits is taken.  A path that begins
with ``self: Jvp`` is of `jvp` alone, which the end of its module tells by a literal from the
others of the class; one with a bare ``self`` is of all of them.  A derivative by what is chosen by
name, or by numbers that are known only when the program runs, is of type `Any`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

Signature = TypeVar("Signature")
K = TypeVar("K", covariant=True)
"""Names the transform among those of a class; a path that is not of all says of which it is."""

S = TypeVar("S", covariant=True)
"""What the functions return, in paths of some; mypy asks for `covariant` where not all use it."""


class Function(Protocol):
    """What every signature has beside its paths."""

    __name__: str
    __qualname__: str


class typed_as(Generic[Signature]):  # noqa: N801  (a decorator)
    """Show a function to checkers with a signature; it is the function that it was."""

    def __call__(self, function: Callable[..., Any]) -> Signature:
        """Return the function."""
        shown: Any = function
        return shown  # type: ignore[no-any-return]
