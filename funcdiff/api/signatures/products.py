"""Signatures of what is called at a point: products with Jacobians and Hessians, loops, solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, Literal, TypeAlias, TypeVar, overload

from funcdiff.api.signatures.variables import (
    A,
    Argnames,
    Argnums,
    Array,
    Aux,
    Carry,
    Differentiable,
    FirstTwo,
    Function,
    K,
    No,
    P,
    Primals,
    RealScalar,
    S,
    Scalar,
    ScalarPullback,
    Second,
    X,
    Y,
    Yes,
)

Loss = TypeVar("Loss", covariant=True)


# A path is two lines or three, not one for each parameter.
# fmt: off
class Products(Function, Generic[K, S, Loss]):
    """Products with a derivative at a point, and what computes them; keywords are of the function.

    With second derivatives, of functions that return `S`; `Loss` is what `loss` may be.
    """

    @overload
    def __call__(
        self: Vjp, f: Callable[[*Primals], Scalar], *primals: *Primals, argnums: None = None,
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[Scalar, ScalarPullback[Scalar, *Primals]]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[[*Primals], Y], *primals: *Primals, argnums: None = None,
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, Callable[[Y], tuple[*Primals]]]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[[*Primals], tuple[Scalar, Aux]], *primals: *Primals,
        argnums: None = None, argnames: None = None, has_aux: Yes, **kwargs: Any
    ) -> tuple[Scalar, ScalarPullback[Scalar, *Primals], Aux]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[[*Primals], tuple[Y, Aux]], *primals: *Primals,
        argnums: None = None, argnames: None = None, has_aux: Yes, **kwargs: Any
    ) -> tuple[Y, Callable[[Y], tuple[*Primals]], Aux]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[Concatenate[X, P], Y], *primals: Any, argnums: Literal[0],
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, ScalarPullback[Y, X]]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[Concatenate[A, X, P], Y], *primals: Any, argnums: Second,
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, ScalarPullback[Y, X]]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[Concatenate[A, X, P], Y], *primals: Any, argnums: FirstTwo,
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, ScalarPullback[Y, A, X]]: ...
    @overload
    def __call__(
        self: Vjp, f: Callable[..., Y], *primals: Any, argnums: Argnums, has_aux: No = False,
        argnames: Argnames | None = None, **kwargs: Any
    ) -> tuple[Y, ScalarPullback[Y, *tuple[Any, ...]]]: ...
    @overload
    def __call__(
        self: Linearize, f: Callable[[*Primals], Y], *primals: *Primals, argnums: None = None,
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, Callable[[*Primals], Y]]: ...
    @overload
    def __call__(
        self: Linearize, f: Callable[[*Primals], tuple[Y, Aux]], *primals: *Primals,
        argnums: None = None, argnames: None = None, has_aux: Yes, **kwargs: Any
    ) -> tuple[Y, Callable[[*Primals], Y], Aux]: ...
    @overload
    def __call__(
        self: Jvp, f: Callable[[*Primals], Y], primals: tuple[*Primals],
        tangents: tuple[*Primals], *, argnums: None = None, argnames: None = None,
        has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, Y]: ...
    @overload
    def __call__(
        self: Jvp, f: Callable[[*Primals], tuple[Y, Aux]], primals: tuple[*Primals],
        tangents: tuple[*Primals], *, argnums: None = None, argnames: None = None, has_aux: Yes,
        **kwargs: Any
    ) -> tuple[Y, Y, Aux]: ...
    @overload
    def __call__(
        self: Jvp, f: Callable[[*Primals], Y], primals: tuple[*Primals],
        tangents: tuple[Any, ...], *, argnums: Argnums, argnames: Argnames | None = None,
        has_aux: No = False, **kwargs: Any
    ) -> tuple[Y, Y]: ...
    @overload
    def __call__(
        self: DirectionalDerivative, f: Callable[[*Primals], Y], primals: tuple[*Primals],
        tangents: tuple[*Primals], *, argnums: None = None, argnames: None = None,
        has_aux: bool = False, **kwargs: Any
    ) -> Y: ...
    @overload
    def __call__(
        self: _Curved[S, Loss], f: Callable[[X], S], primals: tuple[X], tangents: tuple[X], *,
        loss: Loss | None = None, argnums: None = None, argnames: None = None, has_aux: No = False,
        **kwargs: Any
    ) -> X: ...
    @overload
    def __call__(
        self: _Curved[S, Loss], f: Callable[[*Primals], S], primals: tuple[*Primals],
        tangents: tuple[*Primals], *, loss: Loss | None = None, argnums: None = None,
        argnames: None = None, has_aux: No = False, **kwargs: Any
    ) -> tuple[*Primals]: ...
    @overload
    def __call__(
        self: _Curved[S, Loss], f: Callable[[*Primals], tuple[S, Aux]], primals: tuple[*Primals],
        tangents: tuple[*Primals], *, loss: Loss | None = None, argnums: None = None,
        argnames: None = None, has_aux: Yes, **kwargs: Any
    ) -> tuple[Any, Aux]: ...
    @overload
    def __call__(
        self: _GaussNewton[Loss], f: Callable[..., Any], primals: tuple[Any, ...],
        tangents: tuple[Any, ...], *, loss: Loss | None = None, argnums: Argnums | None = None,
        argnames: Argnames | None = None, has_aux: bool = False, **kwargs: Any
    ) -> Any: ...
    @overload
    def __call__(
        self: _CurvedBack, f: Callable[..., Any], primals: tuple[Any, ...], *,
        cotangents: tuple[Any, ...], has_aux: bool = False, **kwargs: Any
    ) -> Any: ...
    @overload
    def __call__(
        self: Transposes, f: Callable[[*Primals], Y], *primals: *Primals, argnums: None = None,
        argnames: None = None, **kwargs: Any
    ) -> Callable[[Y], tuple[*Primals]]: ...
    @overload
    def __call__(
        self: Transposes, f: Callable[..., Y], *primals: Any, argnums: Argnums,
        argnames: Argnames | None = None, **kwargs: Any
    ) -> Callable[[Y], tuple[Any, ...]]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], *primals: Any, argnums: Argnums,
        argnames: Argnames | None = None, has_aux: bool = False, **kwargs: Any
    ) -> Any: ...
    @overload
    def __call__(
        self, f: Callable[..., Any], *primals: Any, argnums: Argnums | None = None,
        argnames: Argnames, has_aux: bool = False, **kwargs: Any
    ) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
        """Return the product, or what computes it.

        The parameters are explained by ``help(funcdiff.vjp)``.
        """


# fmt: on

# Which paths are of which transforms.
Vjp: TypeAlias = Products[Literal["value and pullback"], Any, Any]
Linearize: TypeAlias = Products[Literal["value and linear map"], Any, Any]
Jvp: TypeAlias = Products[Literal["value and tangent"], Any, Any]
DirectionalDerivative: TypeAlias = Products[Literal["tangent"], Any, Any]
_Curved = Products[Literal["curved", "in reverse", "of residuals"], S, Loss]
Transposes: TypeAlias = Products[Literal["transpose"], Any, Any]
_GaussNewton = Products[Literal["of residuals"], Any, Loss]
_CurvedBack = Products[Literal["in reverse"], Any, Any]

Hvp: TypeAlias = Products[Literal["curved"], RealScalar, Any]
Vhp: TypeAlias = Products[Literal["in reverse"], RealScalar, Any]
GaussNewtonProduct: TypeAlias = Products[Literal["of residuals"], Any, Callable[[Any], RealScalar]]


# A path is two lines or three, not one for each parameter.
# fmt: off
class Scans(Function):
    """Loops over rows with a carry."""

    @overload
    def __call__(
        self, f: Callable[[Carry, Any], tuple[Carry, Differentiable]], init: Carry, xs: Any = None,
        length: int | None = None, *, reverse: bool = False, checkpoint: bool | int = False
    ) -> tuple[Carry, Array]: ...
    @overload
    def __call__(
        self, f: Callable[[Carry, Any], tuple[Carry, Y]], init: Carry, xs: Any = None,
        length: int | None = None, *, reverse: bool = False, checkpoint: bool | int = False
    ) -> tuple[Carry, Y]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the last carry and all results; see ``help(funcdiff.scan)``."""


class Maps(Function):
    """Loops over rows without a carry."""

    @overload
    def __call__(
        self, f: Callable[[X], Differentiable], xs: X, *, batch_size: int | None = None,
        progress: bool = False
    ) -> Array: ...
    @overload
    def __call__(
        self, f: Callable[[X], Y], xs: X, *, batch_size: int | None = None, progress: bool = False
    ) -> Y: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return all results; see ``help(funcdiff.map)``."""


class Roots(Function):
    """Roots, and what solvers return beside them."""

    @overload
    def __call__(
        self, f: Callable[[X], Any], initial_guess: X,
        solve: Callable[[Callable[[X], Any], X], Any],
        tangent_solve: Callable[[Callable[[X], Any], X], Any] | None = None, *, has_aux: No = False
    ) -> X: ...
    @overload
    def __call__(
        self, f: Callable[[X], Any], initial_guess: X,
        solve: Callable[[Callable[[X], Any], X], tuple[Any, Aux]],
        tangent_solve: Callable[[Callable[[X], Any], X], Any] | None = None, *, has_aux: Yes
    ) -> tuple[X, Aux]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the root; see ``help(funcdiff.custom_root)``."""


class Solutions(Function):
    """Solutions of linear equations, and what solvers return beside them."""

    @overload
    def __call__(
        self, matvec: Callable[[X], Any], b: X,
        solve: Callable[[Callable[[X], Any], X], Any] | None = None,
        transpose_solve: Callable[[Callable[[X], Any], X], Any] | None = None, *,
        symmetric: bool = False, has_aux: No = False
    ) -> X: ...
    @overload
    def __call__(
        self, matvec: Callable[[X], Any], b: X,
        solve: Callable[[Callable[[X], Any], X], tuple[Any, Aux]],
        transpose_solve: Callable[[Callable[[X], Any], X], tuple[Any, Any]] | None = None, *,
        symmetric: bool = False, has_aux: Yes
    ) -> tuple[X, Aux]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the solution; see ``help(funcdiff.custom_linear_solve)``."""
# fmt: on
