"""The signatures of the transforms for type checkers: overloads, in classes of typed paths.

A transform is a plain function of `Any` in a module of its own, and has here its signature:
`typed_as` shows it so to a checker, and does nothing when the program runs.  Transforms with the
same parameters share a class of paths, of which the first that fits is taken.  A path that begins
with ``self: Jvp`` is of `jvp` alone, which the end of its module tells by a literal from the
others of the class; one with a bare ``self`` is of all of them.  A derivative by what is chosen by
name, or by numbers that are known only when the program runs, is of type `Any`.

The classes are no protocols: checkers compare those path by path, which takes minutes for a list
of transforms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Signature = TypeVar("Signature")
K = TypeVar("K", covariant=True)
"""Names the transform among those of a class; a path that is not of all says of which it is."""

S = TypeVar("S", covariant=True)
"""What the functions return, in paths of some."""


class Function:
    """What every signature has beside its paths: names, and that it can be called somehow."""

    __name__: str
    __qualname__: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns."""


class typed_as(Generic[Signature]):  # noqa: N801  (a decorator)
    """Show a function to checkers with a signature; it is the function that it was."""

    def __call__(self, function: Callable[..., Any]) -> Signature:
        """Return the function."""
        shown: Any = function
        return shown  # type: ignore[no-any-return]
