"""Signatures of products with Jacobians and Hessians at a point: `vjp`, `jvp`, `hvp` and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar, overload

from funcdiff.api.signatures.typed import Function, K, S
from funcdiff.api.signatures.variables import (
    Argnames,
    Argnums,
    Aux,
    No,
    Primals,
    RealScalar,
    Scalar,
    ScalarPullback,
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
        self: _Curved[S, Loss], f: Callable[[X], tuple[S, Aux]], primals: tuple[X],
        tangents: tuple[X], *, loss: Loss | None = None, argnums: None = None,
        argnames: None = None, has_aux: Yes, **kwargs: Any
    ) -> tuple[X, Aux]: ...
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
