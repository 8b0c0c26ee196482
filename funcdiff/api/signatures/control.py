"""Signatures of loops and solvers that return more than one type: `scan`, `map`, `custom_root`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from funcdiff.api.signatures.typed import Function
from funcdiff.api.signatures.variables import Array, Aux, Carry, Differentiable, No, X, Y, Yes


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
