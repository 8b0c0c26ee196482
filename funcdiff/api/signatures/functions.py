"""Signatures of transforms that return functions: gradients, Jacobians, Hessians.

Which argument is differentiated is said by the paths of `Gradients` and the others, once for
transforms of every kind; what comes beside the derivative, by those of `Derived`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    Literal,
    Never,
    ParamSpec,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    overload,
)

from funcdiff.api.signatures.variables import (
    A,
    Argnames,
    Argnums,
    Array,
    ArrayArg,
    Aux,
    B,
    Blocks,
    ComplexScalar,
    Compressed,
    Coo,
    Coordinates,
    Differentiable,
    DifferentiableOrPair,
    DifferentiableValue,
    First,
    FirstTwo,
    Format,
    Function,
    K,
    Mode,
    No,
    Number,
    OtherArg,
    P,
    Primals,
    RealScalar,
    S,
    Scalar,
    ScalarAndAux,
    ScalarOrPair,
    Second,
    X,
    Y,
    Yes,
)

if TYPE_CHECKING:  # Any, unless there are stubs of SciPy's
    from scipy.sparse import csc_array, csr_array

F = TypeVar("F", contravariant=True)
M = TypeVar("M", contravariant=True)
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
Ds = TypeVarTuple("Ds")
Key = TypeVar("Key")

Alone = Literal["derivative"]
BesideAux = Literal["derivative and auxiliary"]
WithValue = Literal["value and derivative"]
LikeTheValue = Literal["tangent"]
Third = Literal[2]
FromThird = Literal[2, 3, 4, 5, 6, 7, 8, 9]
FirstThree = tuple[Literal[0], Literal[1], Literal[2]]


# A path is two lines or three, not one for each parameter.
# fmt: off
class Derived(Function, Generic[K, Q, R, *Ds]):
    """What a transform of kind `K` makes of a function of `Q` that returns `R`.

    Most return the last of the derivatives `Ds`, beside what is auxiliary, or the value and all.
    """

    @overload
    def __call__(
        self: Derived[Alone, P, Differentiable, *tuple[Any, ...], X],
        *args: P.args, **kwargs: P.kwargs
    ) -> X: ...
    @overload
    def __call__(
        self: Derived[Alone | BesideAux, P, tuple[Any, Aux], *tuple[Any, ...], X],
        *args: P.args, **kwargs: P.kwargs
    ) -> tuple[X, Aux]: ...
    @overload
    def __call__(
        self: Derived[WithValue, P, Y, *Primals], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Y, *Primals]: ...
    @overload
    def __call__(
        self: Derived[LikeTheValue, P, Y, Any], *args: P.args, **kwargs: P.kwargs
    ) -> Y: ...
    @overload
    def __call__(
        self: Derived[Literal["vjp"], P, Y, X], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Callable[[Y], X], Y]: ...
    @overload
    def __call__(
        self: Derived[Literal["jvp"], P, Y, X], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[X], tuple[Y, Y]]: ...
    @overload
    def __call__(
        self: Derived[Literal["hvp"], P, Any, X], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[Callable[[X], X], X]: ...
    @overload
    def __call__(
        self: Derived[Literal["matrix"], P, Any, ArrayArg], *args: P.args, **kwargs: P.kwargs
    ) -> Array: ...
    @overload
    def __call__(
        self: Derived[Literal["matrix"], P, Any, Any], *args: P.args, **kwargs: P.kwargs
    ) -> Any: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative, or a tuple of it and others."""

    def __get__(  # type: ignore[empty-body]
        self: Derived[A, Concatenate[Any, P], Y, *Primals], instance: object, owner: Any = None
    ) -> Derived[A, P, Y, *Primals]:
        """Bind to an instance, as functions do."""


class NoSuchArgument:
    """What `argnums` names is no argument of the function: there is no derivative to call."""


class OfFunctions(Function, Generic[K]):
    """A transform of kind `K` with its options: a decorator, ``@fd.grad(argnums=1)``."""

    def __call__(self, f: Callable[P, Y]) -> Derived[K, P, Y, Any]:  # type: ignore[empty-body]
        """Return the function of the same parameters."""


class Options(Function, Generic[Q]):
    """A transform that keeps the parameters and the result of a function; it has the options `Q`.

    Without a function it is a decorator.
    """

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, f: Callable[P, Y], *options: Q.args, **named: Q.kwargs
    ) -> Callable[P, Y]: ...
    @overload
    def __call__(self, *options: Q.args, **named: Q.kwargs) -> Options[[]]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function of the same parameters, or what makes it."""


class Gradients(Function, Generic[K]):
    """Derivatives of scalar functions, like the arguments."""

    @overload
    def __call__(
        self: Grad, f: Callable[Concatenate[X, P], RealScalar], argnums: First = None, *,
        has_aux: No = False
    ) -> Callable[Concatenate[X, P], X]: ...
    @overload
    def __call__(
        self: ValueAndGrad, f: Callable[Concatenate[X, P], Scalar], argnums: First = None, *,
        has_aux: No = False
    ) -> Callable[Concatenate[X, P], tuple[Scalar, X]]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[X, P], ScalarOrPair], argnums: First = None, *,
        has_aux: bool = False, holomorphic: Yes
    ) -> Derived[K, Concatenate[X, P], ScalarOrPair, X]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[X, P], ScalarAndAux], argnums: First = None, *, has_aux: Yes,
        holomorphic: No = False
    ) -> Derived[K, Concatenate[X, P], ScalarAndAux, X]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[A, X, P], ScalarOrPair], argnums: Second, *,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, X, P], ScalarOrPair, X]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, f: Callable[Concatenate[A, B, X, P], ScalarOrPair], argnums: Third, *,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, B, X, P], ScalarOrPair, X]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[A, X, P], ScalarOrPair], argnums: FirstTwo, *,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, X, P], ScalarOrPair, tuple[A, X]]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[A, B, X, P], ScalarOrPair], argnums: FirstThree, *,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, B, X, P], ScalarOrPair, tuple[A, B, X]]: ...
    @overload
    def __call__(
        self, f: Callable[P, ScalarOrPair], argnums: Argnums | None = None, *, argnames: Argnames,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, P, ScalarOrPair, Any]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[Any, Any, Any, P], ScalarOrPair], argnums: Argnums, *,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Any: ...
    @overload  # functions of fewer arguments than the path above takes come here
    def __call__(  # type: ignore[overload-cannot-match]
        self, f: Callable[..., ScalarOrPair], argnums: FromThird, *, has_aux: bool = False,
        holomorphic: bool = False
    ) -> NoSuchArgument: ...
    @overload
    def __call__(  # type: ignore[overload-cannot-match]
        self, f: Callable[..., ScalarOrPair], argnums: Argnums, *, has_aux: bool = False,
        holomorphic: bool = False
    ) -> Any: ...
    @overload
    def __call__(
        self, *, argnums: Argnums | None = None, argnames: Argnames | None = None,
        has_aux: bool = False, holomorphic: bool = False
    ) -> OfFunctions[K]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a function of the same arguments that computes the gradient.

        What editors show of a call; the parameters are explained by ``help(funcdiff.grad)``.
        """


class Elements(Function, Generic[K, M]):
    """Derivatives of functions of every element, all at once; `M` is what `n` may be."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self: Orders, f: Callable[Concatenate[Number, P], Y], argnums: First = None, *, n: int = 1,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Callable[Concatenate[Number, P], Y]: ...
    @overload
    def __call__(
        self: Elementwise, f: Callable[Concatenate[ArrayArg, P], Y], argnums: First = None, *,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[ArrayArg, P], Y, ArrayArg]: ...
    @overload
    def __call__(
        self, f: Callable[Concatenate[A, ArrayArg, P], Y], argnums: Second, *, n: M = ...,
        has_aux: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, ArrayArg, P], Y, ArrayArg]: ...
    @overload
    def __call__(
        self, f: Callable[..., Any] = ..., argnums: Argnums | None = None, *, n: M = ...,
        argnames: Argnames | None = None, has_aux: bool = False, holomorphic: bool = False
    ) -> Function: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a function of the same arguments that computes the derivative.

        The parameters are explained by ``help(funcdiff.derivative)``.
        """


class Matrices(Function, Generic[K, S, F, M]):
    """Derivatives by an array as arrays, by a container of any type, of functions that return `F`.

    `M` is what `mode` may be, `Never` where it is no parameter.
    """

    @overload
    def __call__(
        self: Jacobians[K, M], f: Callable[Concatenate[ArrayArg, P], tuple[Any, ...]],
        argnums: First = None, *,
        has_aux: No = False, mode: M = ..., chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False, sparse: bool = False, format: Format = None, sparsity: Any = None
    ) -> Any: ...
    @overload
    def __call__(
        self: Jacobians[K, M], f: Callable[Concatenate[ArrayArg, P], DifferentiableOrPair],
        argnums: First = None, *, has_aux: bool = False, mode: M = ...,
        chunk_size: int | None = None, progress: bool = False, holomorphic: bool = False
    ) -> Derived[K, Concatenate[ArrayArg, P], DifferentiableOrPair, Array]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[ArrayArg, P], ScalarOrPair],
        argnums: First = None, *,
        has_aux: bool = False, chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[K, Concatenate[ArrayArg, P], ScalarOrPair, ArrayArg, Array]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[dict[Key, ArrayArg], P], ScalarOrPair],
        argnums: First = None, *,
        has_aux: bool = False, chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[
        K, Concatenate[dict[Key, ArrayArg], P], ScalarOrPair,
        dict[Key, ArrayArg], dict[Key, dict[Key, Array]]
    ]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[list[ArrayArg], P], ScalarOrPair],
        argnums: First = None, *,
        has_aux: bool = False, chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[
        K, Concatenate[list[ArrayArg], P], ScalarOrPair, list[ArrayArg], list[list[Array]]
    ]: ...
    @overload
    def __call__(
        self: Hessians[K],
        f: Callable[Concatenate[tuple[ArrayArg, OtherArg], P], ScalarOrPair],
        argnums: First = None, *,
        has_aux: bool = False, chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[
        K, Concatenate[tuple[ArrayArg, OtherArg], P], ScalarOrPair,
        tuple[ArrayArg, OtherArg], Blocks
    ]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[A, ArrayArg, P], ScalarOrPair],
        argnums: Second, *,
        has_aux: bool = False, chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, ArrayArg, P], ScalarOrPair, ArrayArg, Array]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[ArrayArg, OtherArg, P], ScalarOrPair],
        argnums: FirstTwo, *,
        has_aux: bool = False, chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[
        K, Concatenate[ArrayArg, OtherArg, P], ScalarOrPair, tuple[ArrayArg, OtherArg], Blocks
    ]: ...
    @overload
    def __call__(
        self: Jacobians[K, M], f: Callable[Concatenate[A, ArrayArg, P], DifferentiableValue],
        argnums: Second, *,
        has_aux: No = False, mode: M = ..., chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[K, Concatenate[A, ArrayArg, P], DifferentiableValue, Array]: ...
    @overload
    def __call__(
        self: Jacobians[K, M],
        f: Callable[Concatenate[ArrayArg, OtherArg, P], DifferentiableValue],
        argnums: FirstTwo, *,
        has_aux: No = False, mode: M = ..., chunk_size: int | None = None, progress: bool = False,
        holomorphic: bool = False
    ) -> Derived[
        K, Concatenate[ArrayArg, OtherArg, P], DifferentiableValue, tuple[Array, Array]
    ]: ...
    @overload
    def __call__(
        self: Jacobians[K, M], f: Callable[Concatenate[ArrayArg, P], DifferentiableOrPair],
        argnums: First = None, *, has_aux: bool = False, mode: M = ..., holomorphic: bool = False,
        sparse: Yes, format: Compressed = None, sparsity: Any = None
    ) -> Derived[K, Concatenate[ArrayArg, P], DifferentiableOrPair, csr_array | csc_array]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[ArrayArg, P], ScalarOrPair],
        argnums: First = None, *,
        has_aux: bool = False, holomorphic: bool = False, sparse: Yes, format: Compressed = None,
        sparsity: Any = None
    ) -> Derived[K, Concatenate[ArrayArg, P], ScalarOrPair, ArrayArg, csr_array | csc_array]: ...
    @overload
    def __call__(
        self: Jacobians[K, M], f: Callable[Concatenate[ArrayArg, P], DifferentiableOrPair],
        argnums: First = None, *, has_aux: bool = False, mode: M = ..., holomorphic: bool = False,
        sparse: Yes, format: Coo, sparsity: Any = None
    ) -> Derived[K, Concatenate[ArrayArg, P], DifferentiableOrPair, Coordinates]: ...
    @overload
    def __call__(
        self: Hessians[K], f: Callable[Concatenate[ArrayArg, P], ScalarOrPair],
        argnums: First = None, *,
        has_aux: bool = False, holomorphic: bool = False, sparse: Yes, format: Coo,
        sparsity: Any = None
    ) -> Derived[K, Concatenate[ArrayArg, P], ScalarOrPair, ArrayArg, Coordinates]: ...
    @overload
    def __call__(
        self, f: Callable[..., F] = ..., argnums: Argnums | None = None, *,
        argnames: Argnames | None = None, has_aux: bool = False, mode: M = ...,
        chunk_size: int | None = None, progress: bool = False, holomorphic: bool = False,
        sparse: bool = False, format: Format = None, sparsity: Any = None
    ) -> Function: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a function of the same arguments that computes the Jacobian or Hessian.

        The parameters are explained by ``help(funcdiff.jacobian)``.
        """


# fmt: on


def with_options(function: Callable[Concatenate[Any, Q], Any]) -> Options[Q]:
    """Show a function to checkers as `Options`; it is the function that it was."""
    shown: Any = function
    return shown  # type: ignore[no-any-return]


# Which paths are of which transforms.
Grad: TypeAlias = Gradients[Alone]
ValueAndGrad: TypeAlias = Gradients[WithValue]
Elementwise: TypeAlias = Elements[Alone, Never]
Orders: TypeAlias = Elements[LikeTheValue, int]
Jacobians = Matrices[K, Literal["jacobian"], Any, M]
Jacobian: TypeAlias = Jacobians[Alone, Mode]
JacobianInOneMode: TypeAlias = Jacobians[Alone, Never]
ValueAndJacobian: TypeAlias = Jacobians[WithValue, Mode]
Hessians = Matrices[K, Literal["hessian"], ComplexScalar | tuple[ComplexScalar, Any], Never]
Hessian: TypeAlias = Hessians[Alone]
ValueGradAndHessian: TypeAlias = Hessians[WithValue]
