"""Transforms that return functions: gradients, Jacobians, Hessians."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Never, Protocol, TypeAlias, TypeVar, overload

from funcdiff.api.signatures.typed import Function, K, S
from funcdiff.api.signatures.variables import (
    A,
    Argnames,
    Argnums,
    Array,
    ArrayArg,
    Aux,
    B,
    ComplexScalar,
    ComplexValue,
    Differentiable,
    DifferentiableAndAux,
    DifferentiableValue,
    First,
    Mode,
    No,
    Number,
    OfFirst,
    OfSecond,
    OfThird,
    P,
    RealScalar,
    Value,
    ValueAndAux,
    ValueOrBoth,
    X,
    Y,
    Yes,
)

F = TypeVar("F", contravariant=True)
M = TypeVar("M", contravariant=True)

Second = Literal[1]
Third = Literal[2]
FirstTwo = tuple[Literal[0], Literal[1]]
FirstThree = tuple[Literal[0], Literal[1], Literal[2]]


# A path is two lines or three, not one for each parameter.
# fmt: off
class Gradients(Function, Protocol[K]):
    """Derivatives of scalar functions, like the arguments."""

    @overload
    def __call__(
        self: Grad, f: OfFirst[X, P, RealScalar], argnums: First = None, *,
        has_aux: No = False
    ) -> OfFirst[X, P, X]: ...
    @overload
    def __call__(
        self: Grad, f: OfSecond[A, X, P, RealScalar], argnums: Second, *, has_aux: No = False
    ) -> OfSecond[A, X, P, X]: ...
    @overload
    def __call__(
        self: Grad, f: OfThird[A, B, X, P, RealScalar], argnums: Third, *, has_aux: No = False
    ) -> OfThird[A, B, X, P, X]: ...
    @overload
    def __call__(
        self: Grad, f: OfSecond[A, X, P, RealScalar], argnums: FirstTwo, *,
        has_aux: No = False
    ) -> OfSecond[A, X, P, tuple[A, X]]: ...
    @overload
    def __call__(
        self: Grad, f: OfThird[A, B, X, P, RealScalar], argnums: FirstThree, *,
        has_aux: No = False
    ) -> OfThird[A, B, X, P, tuple[A, B, X]]: ...
    @overload
    def __call__(
        self: Grad, f: OfFirst[X, P, tuple[RealScalar, Aux]], argnums: First = None, *,
        has_aux: Yes
    ) -> OfFirst[X, P, tuple[X, Aux]]: ...
    @overload
    def __call__(
        self: Grad, f: OfSecond[A, X, P, tuple[RealScalar, Aux]], argnums: Second, *,
        has_aux: Yes
    ) -> OfSecond[A, X, P, tuple[X, Aux]]: ...
    @overload
    def __call__(
        self: Grad, f: OfThird[A, B, X, P, tuple[RealScalar, Aux]], argnums: Third, *,
        has_aux: Yes
    ) -> OfThird[A, B, X, P, tuple[X, Aux]]: ...
    @overload
    def __call__(
        self: Grad, f: OfSecond[A, X, P, tuple[RealScalar, Aux]], argnums: FirstTwo, *,
        has_aux: Yes
    ) -> OfSecond[A, X, P, tuple[tuple[A, X], Aux]]: ...
    @overload
    def __call__(
        self: Grad, f: OfThird[A, B, X, P, tuple[RealScalar, Aux]], argnums: FirstThree, *,
        has_aux: Yes
    ) -> OfThird[A, B, X, P, tuple[tuple[A, B, X], Aux]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfFirst[X, P, Value], argnums: First = None, *,
        has_aux: No = False
    ) -> OfFirst[X, P, tuple[Value, X]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfFirst[X, P, ValueAndAux], argnums: First = None, *,
        has_aux: Yes
    ) -> OfFirst[X, P, tuple[ValueAndAux, X]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfSecond[A, X, P, ValueOrBoth], argnums: Second, *,
        has_aux: bool = False
    ) -> OfSecond[A, X, P, tuple[ValueOrBoth, X]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfThird[A, B, X, P, ValueOrBoth], argnums: Third, *,
        has_aux: bool = False
    ) -> OfThird[A, B, X, P, tuple[ValueOrBoth, X]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfSecond[A, X, P, ValueOrBoth], argnums: FirstTwo, *,
        has_aux: bool = False
    ) -> OfSecond[A, X, P, tuple[ValueOrBoth, tuple[A, X]]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfThird[A, B, X, P, ValueOrBoth], argnums: FirstThree, *,
        has_aux: bool = False
    ) -> OfThird[A, B, X, P, tuple[ValueOrBoth, tuple[A, B, X]]]: ...
    @overload
    def __call__(
        self: Grad, f: OfFirst[X, P, ComplexScalar], argnums: First = None, *,
        has_aux: No = False, holomorphic: Yes
    ) -> OfFirst[X, P, X]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: OfFirst[X, P, ComplexValue], argnums: First = None, *,
        has_aux: No = False, holomorphic: Yes
    ) -> OfFirst[X, P, tuple[ComplexValue, X]]: ...
    @overload
    def __call__(
        self: Grad, f: Callable[P, RealScalar], argnums: Argnums | None = None, *,
        argnames: Argnames, has_aux: No = False
    ) -> Callable[P, Any]: ...
    @overload
    def __call__(
        self: Grad, f: Callable[P, tuple[RealScalar, Aux]], argnums: Argnums | None = None, *,
        argnames: Argnames, has_aux: Yes
    ) -> Callable[P, tuple[Any, Aux]]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: Callable[P, ValueOrBoth], argnums: Argnums | None = None, *,
        argnames: Argnames, has_aux: bool = False
    ) -> Callable[P, tuple[ValueOrBoth, Any]]: ...
    @overload
    def __call__(
        self, f: Callable[..., RealScalar], argnums: Argnums, *, has_aux: No = False
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[..., tuple[RealScalar, Any]], argnums: Argnums, *, has_aux: Yes
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], argnums: Argnums | None = None, *,
        argnames: Argnames | None = None, has_aux: bool = False, holomorphic: bool
    ) -> Any: ...


class Elementwise(Function, Protocol):
    """Derivatives of functions of every element, all at once."""

    @overload
    def __call__(
        self, f: OfFirst[ArrayArg, P, Differentiable], argnums: First = None, *,
        has_aux: No = False, holomorphic: bool = False
    ) -> OfFirst[ArrayArg, P, ArrayArg]: ...
    @overload
    def __call__(
        self, f: OfSecond[A, ArrayArg, P, Differentiable], argnums: Second, *, has_aux: No = False
    ) -> OfSecond[A, ArrayArg, P, ArrayArg]: ...
    @overload
    def __call__(
        self, f: OfFirst[ArrayArg, P, tuple[Differentiable, Aux]], argnums: First = None, *,
        has_aux: Yes
    ) -> OfFirst[ArrayArg, P, tuple[ArrayArg, Aux]]: ...
    @overload
    def __call__(
        self, f: Callable[P, Any], argnums: Argnums | None = None, *, argnames: Argnames,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Callable[P, Any]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], argnums: Argnums | None = None, *, has_aux: bool = False,
        holomorphic: bool = False
    ) -> Any: ...


class Matrices(Function, Protocol[K, S, F, M]):
    """Derivatives by an array as arrays, of functions that return `S`; by a container of any type.

    Functions that are differentiated by containers return `F`, and `M` is what `mode` may be,
    `Never` where it is no parameter.
    """

    @overload
    def __call__(
        self: _Matrix[S, F, M], f: OfFirst[ArrayArg, P, S], argnums: First = None, *,
        has_aux: No = False, mode: M = ..., chunk_size: int | None = None,
        holomorphic: bool = False
    ) -> OfFirst[ArrayArg, P, Array]: ...
    @overload
    def __call__(
        self: _Matrix[S, F, M], f: OfFirst[ArrayArg, P, tuple[S, Aux]], argnums: First = None, *,
        has_aux: Yes, mode: M = ..., chunk_size: int | None = None, holomorphic: bool = False
    ) -> OfFirst[ArrayArg, P, tuple[Array, Aux]]: ...
    @overload
    def __call__(
        self: _ValueAndMatrix[F, M], f: OfFirst[ArrayArg, P, DifferentiableValue],
        argnums: First = None, *, has_aux: No = False, mode: M = ..., chunk_size: int | None = None,
        holomorphic: bool = False
    ) -> OfFirst[ArrayArg, P, tuple[DifferentiableValue, Array]]: ...
    @overload
    def __call__(
        self: _ValueAndMatrix[F, M], f: OfFirst[ArrayArg, P, DifferentiableAndAux],
        argnums: First = None, *, has_aux: Yes, mode: M = ..., chunk_size: int | None = None,
        holomorphic: bool = False
    ) -> OfFirst[ArrayArg, P, tuple[DifferentiableAndAux, Array]]: ...
    @overload
    def __call__(
        self: _ValueGradientAndMatrix[F, M], f: OfFirst[ArrayArg, P, Value], argnums: First = None,
        *, has_aux: No = False, mode: M = ..., chunk_size: int | None = None
    ) -> OfFirst[ArrayArg, P, tuple[Value, ArrayArg, Array]]: ...
    @overload
    def __call__(
        self: _ValueGradientAndMatrix[F, M], f: OfFirst[ArrayArg, P, ValueAndAux],
        argnums: First = None, *, has_aux: Yes, mode: M = ..., chunk_size: int | None = None
    ) -> OfFirst[ArrayArg, P, tuple[ValueAndAux, ArrayArg, Array]]: ...
    @overload
    def __call__(
        self, f: Callable[P, F], argnums: Argnums | None = None, *, argnames: Argnames,
        has_aux: No = False, mode: M = ..., chunk_size: int | None = None
    ) -> Callable[P, Any]: ...
    @overload
    def __call__(
        self, f: Callable[..., F], argnums: Argnums | None = None, *, has_aux: No = False,
        mode: M = ..., chunk_size: int | None = None
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], argnums: Argnums | None = None, *,
        argnames: Argnames | None = None, has_aux: bool, mode: M = ...,
        chunk_size: int | None = None
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], argnums: Argnums | None = None, *,
        argnames: Argnames | None = None, has_aux: bool = False, mode: M = ...,
        chunk_size: int | None = None, holomorphic: bool
    ) -> Any: ...


class Orders(Function, Protocol):
    """Derivatives like the result of the function, each by one number."""

    @overload
    def __call__(
        self, f: OfFirst[Number, P, Y], argnums: First = None, *, n: int = 1, has_aux: bool = False,
        holomorphic: bool = False
    ) -> OfFirst[Number, P, Y]: ...
    @overload
    def __call__(
        self, f: OfSecond[A, Number, P, Y], argnums: Second, *, n: int = 1, has_aux: bool = False,
        holomorphic: bool = False
    ) -> OfSecond[A, Number, P, Y]: ...
    @overload
    def __call__(
        self, f: Callable[P, Any], argnums: Argnums | None = None, *, n: int = 1,
        argnames: Argnames, has_aux: bool = False, holomorphic: bool = False
    ) -> Callable[P, Any]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], argnums: Argnums | None = None, *, n: int = 1,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Any: ...


# fmt: on

# Which paths are of which transforms.
Grad: TypeAlias = Gradients[Literal["gradient"]]
ValueAndGrad: TypeAlias = Gradients[Literal["value and gradient"]]
_Matrix = Matrices[Literal["matrix"], S, F, M]
_ValueAndMatrix = Matrices[Literal["value and matrix"], Any, F, M]
_ValueGradientAndMatrix = Matrices[Literal["value, gradient and matrix"], Any, F, M]

Jacobian: TypeAlias = _Matrix[Differentiable, Any, Mode]
JacobianInOneMode: TypeAlias = _Matrix[Differentiable, Any, Never]
ValueAndJacobian: TypeAlias = _ValueAndMatrix[Any, Mode]
Hessian: TypeAlias = _Matrix[RealScalar, RealScalar, Never]
ValueGradAndHessian: TypeAlias = _ValueGradientAndMatrix[RealScalar, Never]
