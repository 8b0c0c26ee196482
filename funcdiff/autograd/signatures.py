"""The signatures of autograd's operators for type checkers.

An `Operator` makes, of a function and `argnum`, a function with the same parameters; what that
returns follows from the argument and from the result of the user's function, by `Derived`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, Literal, TypeAlias, TypeVar, overload

import numpy as np

from funcdiff.api.signatures.functions import Alone, BesideAux, Derived, LikeTheValue, WithValue
from funcdiff.api.signatures.variables import (
    A,
    Array,
    ArrayArg,
    Differentiable,
    DifferentiableValue,
    FirstTwo,
    Function,
    K,
    P,
    Second,
    X,
    Y,
)

Argnum: TypeAlias = int | Sequence[int]
First = Literal[0]
F = TypeVar("F", contravariant=True)
N = TypeVar("N", contravariant=True)


# A path is two lines or three, not one for each parameter.
# fmt: off
class Operator(Function, Generic[K, F, N]):
    """Derivatives of functions that return an `F`, by the arguments at `argnum`, an `N`.

    Functions of products take a tensor behind all other arguments.
    """

    @overload
    def __call__(self, fun: np.ufunc, argnum: N = ...) -> Any: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # what later paths say of it is less
        self: Gradient, fun: Callable[Concatenate[X, P], DifferentiableValue], argnum: First = 0
    ) -> Callable[Concatenate[X, P], X]: ...
    @overload
    def __call__(
        self: Matrix, fun: Callable[Concatenate[ArrayArg, P], DifferentiableValue],
        argnum: First = 0
    ) -> Callable[Concatenate[ArrayArg, P], Array]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self: OfArrays[K], fun: Callable[Concatenate[X, P], DifferentiableValue], argnum: First = 0
    ) -> Derived[K, Concatenate[X, P], DifferentiableValue, X]: ...
    @overload
    def __call__(
        self: OfVectors[K], fun: Callable[Concatenate[X, P], DifferentiableValue],
        argnum: First = 0
    ) -> Derived[K, ..., DifferentiableValue, X]: ...
    @overload
    def __call__(
        self: OfAny[K], fun: Callable[Concatenate[X, P], Y], argnum: First = 0
    ) -> Derived[K, Concatenate[X, P], Y, X]: ...
    @overload
    def __call__(
        self: OfArrays[K], fun: Callable[Concatenate[A, X, P], Y], argnum: Second
    ) -> Derived[K, Concatenate[A, X, P], Y, X]: ...
    @overload
    def __call__(
        self: OfArrays[K], fun: Callable[Concatenate[A, X, P], Y], argnum: FirstTwo
    ) -> Derived[K, Concatenate[A, X, P], Y, tuple[A, X]]: ...
    @overload
    def __call__(self, fun: Callable[..., F], argnum: N = ...) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a function of the same arguments that computes the derivative."""


# fmt: on

# Which paths are of which operators.
OfArrays = Operator[K, Differentiable, Argnum]
OfAny = Operator[K, object, Argnum]
Gradient: TypeAlias = OfArrays[Alone]
ValueAndGradient: TypeAlias = OfArrays[WithValue]
GradientAndAux: TypeAlias = OfAny[BesideAux]
Tangent: TypeAlias = OfArrays[LikeTheValue]
Matrix: TypeAlias = OfArrays[Literal["matrix"]]
MakeVjp: TypeAlias = OfAny[Literal["vjp"]]
MakeJvp: TypeAlias = OfAny[Literal["jvp"]]
MakeHvp: TypeAlias = OfArrays[Literal["hvp"]]
OfVectors = Operator[K, Differentiable, int]
HessianProduct: TypeAlias = OfVectors[Alone]
JacobianProduct: TypeAlias = OfVectors[Literal["matrix"]]
