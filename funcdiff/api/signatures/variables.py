"""The types of the functions that the transforms take and return, and overloads of transforms.

``Callable[Concatenate[X, P], Y]`` is a function of ``x: X`` and further parameters ``P`` that
returns ``Y``.  A transform that keeps the parameters maps it to one with another result.  The
parameters before the differentiated one become positional for a type checker, because
``Concatenate`` has no names.

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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, ParamSpec, Protocol, TypeVar, TypeVarTuple

import numpy as np
from numpy.typing import NDArray

# `bound=Any` lets pyright accept `lambda x: x**2`, whose parameter is still to be inferred.
X = TypeVar("X", bound=Any)
A = TypeVar("A", bound=Any)
B = TypeVar("B", bound=Any)
Y = TypeVar("Y")
Aux = TypeVar("Aux")
Carry = TypeVar("Carry")
Cotangent = TypeVar("Cotangent", contravariant=True)
P = ParamSpec("P")
Primals = TypeVarTuple("Primals")

RealScalar = float | np.floating[Any]
"""What `grad` accepts as the value of a function; ``np.float64`` is a ``float`` as well."""

ComplexScalar = complex | np.number[Any]
"""What ``grad(f, holomorphic=True)`` accepts."""

Array = NDArray[Any]
"""An array of any shape and dtype; NumPy's types say little of shapes."""

FloatArray = NDArray[np.floating[Any]]
"""An array of real floating numbers, so that a checker knows what sums and products of it are."""

Differentiable = RealScalar | ComplexScalar | Array
"""What has a derivative: a number or an array, in no container."""

ArrayArg = TypeVar("ArrayArg", bound=Differentiable)
OtherArg = TypeVar("OtherArg", bound=Differentiable)
Number = TypeVar("Number", bound=ComplexScalar)
DifferentiableValue = TypeVar("DifferentiableValue", bound=Differentiable)

# What a function returns as a whole: with `has_aux` a pair.
Scalar = TypeVar("Scalar", bound=RealScalar)
ScalarAndAux = TypeVar("ScalarAndAux", bound=tuple[RealScalar, Any])
ScalarOrPair = TypeVar("ScalarOrPair", bound=ComplexScalar | tuple[ComplexScalar, Any])
DifferentiableOrPair = TypeVar(
    "DifferentiableOrPair", bound=Differentiable | tuple[Differentiable, Any]
)

Argnums = int | Sequence[int]
"""Which positional arguments are differentiated."""

Argnames = str | Sequence[str]
"""Which arguments are differentiated, by name."""


class HasFields(Protocol):
    """A dataclass of axes, beside a dataclass of arrays."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


MappedAxes = int | None | tuple[Any, ...] | list[Any] | Mapping[Any, Any] | HasFields
"""Which axes `vmap` maps over: one for all, or containers of them."""

Mode = Literal["forward", "reverse"] | None
"""How a Jacobian is computed; None for the cheaper way."""

Compressed = Literal["csr", "csc"] | None
Coo = Literal["coo"]

Format = Compressed | Coo
"""Of sparse matrices; None for rows one after another."""

Coordinates = tuple[Array, tuple[Array, Array]]
"""A sparse matrix of plain arrays: entries, then their rows and columns."""

Blocks = tuple[tuple[Array, Array], tuple[Array, Array]]
"""The second derivatives by two arrays."""

First = Literal[0] | None
"""The argument that is differentiated if none is chosen."""

Second = Literal[1]
FirstTwo = tuple[Literal[0], Literal[1]]

No = Literal[False]
Yes = Literal[True]


Pullback = Callable[[Y], tuple[*Primals]]
"""The `f_vjp` of `vjp`: ``Pullback[Y, X1, X2]`` takes a cotangent and returns one per primal."""

Pushforward = Callable[[*Primals], Y]
"""The `f_jvp` of `linearize`: ``Pushforward[X1, X2, Y]`` takes a tangent per primal."""


class ScalarPullback(Protocol[Cotangent, *Primals]):
    """The `f_vjp` of a real scalar function; its cotangent is 1.0 unless given.

    A function whose result has no known type, a lambda say, is taken for one: then the cotangent
    may be anything.
    """

    def __call__(self, ct: Cotangent | float = ..., /) -> tuple[*Primals]:
        """Return the cotangents of the primals, one for each."""
        ...


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
