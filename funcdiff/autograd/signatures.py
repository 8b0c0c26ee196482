"""The signatures of autograd's operators for type checkers.

An `Operator` makes, of a function and `argnum`, a function with the same parameters; what that
returns follows from the argument and from the result of the user's function, by `Result`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeAlias, TypeVar, overload

import numpy as np

from funcdiff.api.signatures.typed import Function, K
from funcdiff.api.signatures.variables import (
    A,
    Array,
    ArrayArg,
    Aux,
    Differentiable,
    DifferentiableValue,
    OfFirst,
    OfSecond,
    P,
    X,
    Y,
)

Argnum: TypeAlias = int | Sequence[int]
First = Literal[0]
Second = Literal[1]
FirstTwo = tuple[Literal[0], Literal[1]]

Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
D = TypeVar("D", covariant=True)


# A path is two lines or three, not one for each parameter.
# fmt: off
class Result(Function, Generic[K, Q, R, D]):
    """What an operator of kind `K` makes of a function of `Q` that returns `R`, by a `D`."""

    @overload
    def __call__(
        self: Result[Literal["gradient"], P, Any, X], *args: P.args, **kwargs: P.kwargs
    ) -> X: ...
    @overload
    def __call__(
        self: Result[Literal["value, gradient"], P, Y, X], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Y, X]: ...
    @overload
    def __call__(
        self: Result[Literal["gradient, aux"], P, tuple[Any, Aux], X],
        *args: P.args, **kwargs: P.kwargs
    ) -> tuple[X, Aux]: ...
    @overload
    def __call__(
        self: Result[Literal["tangent"], P, Y, Any], *args: P.args, **kwargs: P.kwargs
    ) -> Y: ...
    @overload
    def __call__(
        self: Result[Literal["matrix"], P, Differentiable, ArrayArg],
        *args: P.args, **kwargs: P.kwargs
    ) -> Array: ...
    @overload
    def __call__(
        self: Result[Literal["matrix"], P, Any, Any], *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    @overload
    def __call__(
        self: Result[Literal["vjp"], P, Y, X], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Callable[[Y], X], Y]: ...
    @overload
    def __call__(
        self: Result[Literal["jvp"], P, Y, X], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[X], tuple[Y, Y]]: ...
    @overload
    def __call__(
        self: Result[Literal["hvp"], P, Any, X], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Callable[[X], X], X]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the operator computes."""

    def __get__(  # type: ignore[empty-body]
        self: Result[K, Concatenate[Any, P], Y, X], instance: object, owner: Any = None
    ) -> Result[K, P, Y, X]:
        """Bind to an instance, as functions do."""


class Operator(Function, Generic[K]):
    """Derivatives of functions that return a number or an array, by arguments at `argnum`."""

    @overload
    def __call__(self, fun: np.ufunc, argnum: Argnum = 0) -> Any: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # what the last says of it is less
        self: Gradient, fun: OfFirst[X, P, DifferentiableValue], argnum: First = 0
    ) -> OfFirst[X, P, X]: ...
    @overload
    def __call__(
        self: Matrix, fun: OfFirst[ArrayArg, P, DifferentiableValue], argnum: First = 0
    ) -> OfFirst[ArrayArg, P, Array]: ...
    @overload
    def __call__(
        self, fun: OfFirst[X, P, DifferentiableValue], argnum: First = 0
    ) -> Result[K, Concatenate[X, P], DifferentiableValue, X]: ...
    @overload
    def __call__(
        self, fun: OfSecond[A, X, P, DifferentiableValue], argnum: Second
    ) -> Result[K, Concatenate[A, X, P], DifferentiableValue, X]: ...
    @overload
    def __call__(
        self, fun: OfSecond[A, X, P, DifferentiableValue], argnum: FirstTwo
    ) -> Result[K, Concatenate[A, X, P], DifferentiableValue, tuple[A, X]]: ...
    @overload
    def __call__(self, fun: Callable[..., DifferentiableValue], argnum: Argnum = 0) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a function of the same arguments that computes the derivative."""


class OperatorOnAny(Function, Generic[K]):
    """The same of functions with any result."""

    @overload
    def __call__(self, fun: np.ufunc, argnum: Argnum = 0) -> Any: ...
    @overload
    def __call__(
        self, fun: OfFirst[X, P, Y], argnum: First = 0
    ) -> Result[K, Concatenate[X, P], Y, X]: ...
    @overload
    def __call__(
        self, fun: OfSecond[A, X, P, Y], argnum: Second
    ) -> Result[K, Concatenate[A, X, P], Y, X]: ...
    @overload
    def __call__(
        self, fun: OfSecond[A, X, P, Y], argnum: FirstTwo
    ) -> Result[K, Concatenate[A, X, P], Y, tuple[A, X]]: ...
    @overload
    def __call__(self, fun: Callable[..., Any], argnum: Argnum = 0) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a function of the same arguments that computes the derivative."""


class Product(Function, Generic[K]):
    """Products with a derivative, whose functions take a tensor behind all other arguments."""

    @overload
    def __call__(self, fun: np.ufunc, argnum: int = 0) -> Any: ...
    @overload
    def __call__(
        self: HessianProduct, fun: OfFirst[X, P, DifferentiableValue], argnum: First = 0
    ) -> Callable[..., X]: ...
    @overload
    def __call__(
        self: JacobianProduct, fun: OfFirst[ArrayArg, P, DifferentiableValue], argnum: First = 0
    ) -> Callable[..., Array]: ...
    @overload
    def __call__(self, fun: Callable[..., DifferentiableValue], argnum: int = 0) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function that computes the product."""


# fmt: on

Gradient: TypeAlias = Operator[Literal["gradient"]]
ValueAndGradient: TypeAlias = Operator[Literal["value, gradient"]]
GradientAndAux: TypeAlias = OperatorOnAny[Literal["gradient, aux"]]
Tangent: TypeAlias = Operator[Literal["tangent"]]
Matrix: TypeAlias = Operator[Literal["matrix"]]
MakeVjp: TypeAlias = OperatorOnAny[Literal["vjp"]]
MakeJvp: TypeAlias = OperatorOnAny[Literal["jvp"]]
MakeHvp: TypeAlias = Operator[Literal["hvp"]]
HessianProduct: TypeAlias = Product[Literal["hessian"]]
JacobianProduct: TypeAlias = Product[Literal["jacobian"]]
