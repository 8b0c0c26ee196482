"""``autograd.differential_operators``: derivatives of functions, chosen by `argnum`.

Every operator takes a function and returns one of the same arguments.  `argnum` is the position of
the argument to differentiate by, or several in a tuple or a list, of which the results are tuples.
Gradients are like the argument: an array, or a container of arrays.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from funcdiff.api.calls.inputs import Selection
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives import gradient, linear_maps
from funcdiff.api.derivatives.linear_maps import linearize
from funcdiff.api.signatures.variables import Differentiable, P, typed_as
from funcdiff.autograd import spaces, wrap_util
from funcdiff.autograd.names import attributes
from funcdiff.autograd.signatures import (
    Argnum,
    Gradient,
    GradientAndAux,
    HessianProduct,
    JacobianProduct,
    MakeHvp,
    MakeJvp,
    MakeVjp,
    Matrix,
    Tangent,
    ValueAndGradient,
)
from funcdiff.autograd.spaces import apply_pullback, cast_at, conj_leaves, match_dtypes, vspace
from funcdiff.core.late import late
from funcdiff.core.scope import setting
from funcdiff.errors import OutputError, user_location

# --------------------------------------------------------------------------------------------------
# Derivatives by VJPs alone, where a primitive has only a VJP rule: Jacobians by their rows.
#
# Others are taken in one batched pass or forward, which asks a VJP rule to be linear and to take
# what has no values. Rules written for autograd need not: it calls them once for each row.


class NeedsRows(BaseException):  # no error, and not for users' `except Exception`
    """A derivative at once is wanted of code that calls a primitive which has only a VJP rule."""


_wants_matrix: Final[ContextVar[bool]] = ContextVar("funcdiff_autograd_matrix", default=False)

wants_matrix: Final[Callable[[], bool]] = _wants_matrix.get
"""Whether the trace is for a derivative at once, in which such a primitive raises `NeedsRows`."""


class Either:
    """A derivative taken at once or, from the first call on that has needed it, by VJPs alone.

    What is within such a derivative, and goes by VJPs, makes that go by them, too.
    """

    def __init__(self, whole: Callable[..., Any], by_vjps: Callable[..., Any]) -> None:
        self._whole, self._by_vjps = whole, by_vjps
        self._needs_vjps = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the derivative."""
        if not self._needs_vjps:
            try:
                with setting(_wants_matrix, True):
                    return self._whole(*args, **kwargs)
            except NeedsRows:
                self._needs_vjps = True
        if wants_matrix():
            raise NeedsRows
        return self._by_vjps(*args, **kwargs)


def stack_rows(make_vjp: Callable[..., Any], argnum: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a Jacobian by its rows, which are VJPs of unit vectors."""
    vjp, y = make_vjp(*args, **kwargs)
    space = vspace(y)
    if space.iscomplex:
        raise OutputError(
            f"jacobian of a complex function by a complex argument was asked for, at "
            f"{user_location()}. Use fd.jacobian(f, holomorphic=True), or differentiate by the "
            "real and the imaginary part."
        )
    rows = [vjp(unit) for unit in space.standard_basis()]

    def stack_rows(rows: Sequence[Any], x: Any) -> Any:
        return np.reshape(np.stack(rows) if rows else np.zeros(0), space.shape + np.shape(x))

    if isinstance(argnum, int):
        return stack_rows(rows, args[argnum])
    return tuple(stack_rows([row[k] for row in rows], args[n]) for k, n in enumerate(argnum))


_jacobian = late("funcdiff.api.derivatives.jacobian", "jacobian")

F = TypeVar("F", bound=Callable[..., Any])

Function = Callable[..., Any]
Product = Callable[[Any], Any]


def _positions(argnum: Argnum) -> int | tuple[int, ...]:
    return argnum if isinstance(argnum, int) else tuple(argnum)


def _with_name(fun: Function, operator: str, argnum: Argnum) -> Callable[[F], F]:
    """Give a derivative the name and the documentation that say what it is of."""

    def name(function: F) -> F:
        of = getattr(fun, "__name__", "[unknown name]")
        function.__name__ = function.__qualname__ = f"{operator}_of_{of}_wrt_argnum_{argnum}"
        function.__doc__ = f"The {operator} of {of} with respect to argument number {argnum}."
        function.__wrapped__ = fun  # type: ignore[attr-defined]
        return function

    return name


def _name_composition(fun: Function, operator: str, argnum: Argnum, found: Function) -> Function:
    """Name a derivative that is made of others."""
    return _with_name(fun, operator, argnum)(lambda *args, **kwargs: found(*args, **kwargs))


def _scalar(fun: Function) -> Function:
    """Return a function whose result has no axes, if it has but one element."""
    pair = _scalar_and_axes(fun)
    return functools.wraps(fun)(lambda *args, **kwargs: pair(*args, **kwargs)[0])


def _scalar_and_axes(fun: Function) -> Function:
    """Return the same, with what gives the result its axes back, or None."""

    @functools.wraps(fun)
    def scalar(*args: Any, **kwargs: Any) -> Any:
        y = fun(*args, **kwargs)
        shape = getattr(y, "shape", ())
        if not shape or np.size(y) != 1:
            return y, None
        return np.reshape(y, ()), lambda y: np.reshape(y, shape)

    return scalar


@typed_as[MakeVjp]()
@transform
def make_vjp(fun: Function, argnum: Argnum = 0) -> Callable[..., tuple[Product, Any]]:
    """Return a function that returns ``(vjp, value)``.

    ``vjp(g)`` is `g` times the Jacobian: a covector like the result of `fun`, in, and one like the
    argument, out.

    Examples
    --------
    >>> import numpy as np
    >>> vjp, value = make_vjp(np.square)(np.array([1.0, 2.0]))
    >>> vjp(np.array([1.0, 10.0]))
    array([ 2., 40.])
    """
    positions = _positions(argnum)

    @_with_name(fun, "make_vjp", argnum)
    def make(*args: Any, **kwargs: Any) -> Any:
        value, pullback = linear_maps.vjp(fun, *cast_at(args, argnum), argnums=positions, **kwargs)
        return partial(apply_pullback, pullback, value, isinstance(argnum, int)), value

    return make


@typed_as[MakeJvp]()
@transform
def make_jvp(fun: Function, argnum: Argnum = 0) -> Callable[..., Callable[[Any], tuple[Any, Any]]]:
    """Return a function that returns ``jvp``, and ``jvp(tangent)`` is ``(value, J·tangent)``."""
    positions = _positions(argnum)

    @_with_name(fun, "make_jvp", argnum)
    def make(*args: Any, **kwargs: Any) -> Any:
        return partial(_push, fun, positions, cast_at(args, argnum), kwargs)

    return make


def _push(fun: Function, positions: Any, args: Any, kwargs: Any, tangent: Any) -> Any:
    """Return the value at some arguments, and the derivative along a tangent."""
    chosen, ts = ((positions,), (tangent,)) if isinstance(positions, int) else (positions, tangent)
    ts = tuple(match_dtypes(t, args[k]) for k, t in zip(chosen, ts, strict=True))
    return linear_maps.jvp(fun, args, ts, argnums=positions, **kwargs)


@typed_as[Gradient]()
@transform
def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the gradient of a function with one real result.

    Parameters
    ----------
    fun
        Function of arrays and containers that returns one real number, in an array of any
        number of axes.
    argnum
        Position of the argument to differentiate by; or several, for a tuple of gradients.

    Returns
    -------
    callable
        Of the arguments of `fun`; the gradient is like the argument.  By a complex argument it is
        ``∂f/∂x - i·∂f/∂y``.

    Raises
    ------
    InputError
        When called, if a leaf of the argument is an integer.
    OutputError
        When called, if the result is not one real number.

    Examples
    --------
    >>> print(grad(lambda x, y: x * y**2, 1)(3.0, 2.0))
    12.0
    """
    found = gradient.grad(_scalar(fun), _positions(argnum))
    named = _with_name(fun, "grad", argnum)
    return named(lambda *args, **kwargs: conj_leaves(found(*cast_at(args, argnum), **kwargs)))


@typed_as[ValueAndGradient]()
@transform
def value_and_grad(fun: Function, argnum: Argnum = 0) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes ``(value, gradient)``, as `grad` does."""
    both = gradient.value_and_grad(_scalar_and_axes(fun), _positions(argnum), has_aux=True)

    @_with_name(fun, "value_and_grad", argnum)
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        (value, axes), found = both(*cast_at(args, argnum), **kwargs)
        return (value if axes is None else axes(value)), conj_leaves(found)

    return value_and_grad_f


@typed_as[GradientAndAux]()
@transform
def grad_and_aux(fun: Function, argnum: Argnum = 0) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes ``(gradient, aux)`` of a function that returns a pair.

    The first of the pair is differentiated, summed if it has axes; `aux` is returned as it is.
    """

    @functools.wraps(fun)
    def sum_and_aux(*args: Any, **kwargs: Any) -> Any:
        y, aux = fun(*args, **kwargs)
        return np.sum(y), aux

    both = gradient.grad(sum_and_aux, _positions(argnum), has_aux=True)

    @_with_name(fun, "grad_and_aux", argnum)
    def grad_and_aux_f(*args: Any, **kwargs: Any) -> Any:
        found, aux = both(*cast_at(args, argnum), **kwargs)
        return conj_leaves(found), aux

    return grad_and_aux_f


@typed_as[Gradient]()
@transform
def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the sums of the columns of the Jacobian of a real function.

    For an elementwise function this is the derivative of each element.
    """
    selection = Selection(fun, "elementwise_grad", _positions(argnum))
    found = gradient.gradient_function(fun, selection, has_aux=False, check=lambda *_: None)
    named = _with_name(fun, "elementwise_grad", argnum)
    return named(lambda *args, **kwargs: conj_leaves(found(*cast_at(args, argnum), **kwargs)))


@typed_as[Tangent]()
@transform
def deriv(fun: Function, argnum: Argnum = 0) -> Function:
    """Return a function that computes the derivative in the direction of ones, in forward mode."""

    @_with_name(fun, "deriv", argnum)
    def deriv_f(*args: Any, **kwargs: Any) -> Any:
        x = args[argnum] if isinstance(argnum, int) else tuple(args[k] for k in argnum)
        return make_jvp(fun, argnum)(*args, **kwargs)(vspace(x).ones())[1]

    return deriv_f


@typed_as[Matrix]()
@transform
def jacobian(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the Jacobian, of shape ``output + input``.

    Raises
    ------
    OutputError
        When called, if the argument is complex and the result is, too: there is no one array.
    """
    by_rows = partial(stack_rows, make_vjp(fun, argnum), argnum)
    either = Either(_jacobian(fun, _positions(argnum)), by_rows)

    @_with_name(fun, "jacobian", argnum)
    def compute(*args: Any, **kwargs: Any) -> Any:
        args = tuple(cast_at(args, argnum))
        is_complex = isinstance(argnum, int) and np.iscomplexobj(args[argnum])
        return (by_rows if is_complex else either)(*args, **kwargs)

    return compute


@typed_as[Matrix]()
@transform
def hessian(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the Hessian, of shape ``output + input + input``."""
    return _name_composition(fun, "hessian", argnum, jacobian(jacobian(fun, argnum), argnum))


@typed_as[Gradient]()
@transform
def holomorphic_grad(fun: Function, argnum: int = 0) -> Function:
    """Return a function that computes the complex derivative of a holomorphic function."""
    of_real = grad(functools.wraps(fun)(lambda *args, **kw: np.real(fun(*args, **kw))), argnum)

    @_with_name(fun, "holomorphic_grad", argnum)
    def holomorphic_grad_f(*args: Any, **kwargs: Any) -> Any:
        if not np.iscomplexobj(args[argnum]):
            warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)
        return of_real(*args, **kwargs)

    return holomorphic_grad_f


def grad_named(fun: Callable[P, Differentiable], argname: str) -> Callable[P, Any]:
    """Return the `grad` of a function by a positional parameter of that name."""
    found: Callable[P, Any] = grad(fun, inspect.getfullargspec(fun).args.index(argname))
    return found


@typed_as[MakeHvp]()
@transform
def make_hvp(fun: Function, argnum: Argnum = 0) -> Callable[..., tuple[Product, Any]]:
    """Return a function that returns ``(hvp, gradient)``; ``hvp(v)`` is the Hessian times `v`."""
    return _name_composition(fun, "make_hvp", argnum, make_vjp(grad(fun, argnum), argnum))


@typed_as[HessianProduct]()
@transform
def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of ``(*args, tensor)`` that computes the Hessian times a tensor.

    Examples
    --------
    >>> import numpy as np
    >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
    array([6., 0.])
    """
    gradient_of = grad(fun, argnum)
    push, pull = make_jvp(gradient_of, argnum), make_vjp(gradient_of, argnum)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return push(*args[:-1], **kwargs)(args[-1])[1]

    def reverse(*args: Any, **kwargs: Any) -> Any:
        return pull(*args[:-1], **kwargs)[0](args[-1])

    return _name_composition(fun, "hessian_tensor_product", argnum, Either(forward, reverse))


@typed_as[JacobianProduct]()
@transform
def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Return a function of ``(*args, tensor)`` that computes a tensor times the Jacobian."""

    def contract(*args: Any, **kwargs: Any) -> Any:
        *point, tensor = args
        return np.tensordot(tensor, fun(*point, **kwargs), np.ndim(tensor))

    return _name_composition(fun, "tensor_jacobian_product", argnum, jacobian(contract, argnum))


@transform
def make_jvp_reversemode(fun: Function, argnum: Argnum = 0) -> Callable[..., Product]:
    """Return a function that returns the product of the Jacobian with a tangent, as a function."""
    make = make_jvp(fun, argnum)
    return lambda *args, **kwargs: partial(_second, make(*args, **kwargs))


def _second(jvp: Function, tangent: Any) -> Any:
    return jvp(tangent)[1]


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product
unary_to_nary = wrap_util.unary_to_nary
_make_vjp, _make_jvp = spaces.make_vjp, spaces.make_jvp  # which packages take


def _half_squares(y: Any) -> Any:
    return 0.5 * np.sum(y**2, axis=-1)


@transform
def make_ggnvp(
    f: Callable[P, Any], g: Function = _half_squares, f_argnum: int = 0
) -> Callable[P, Product]:
    """Return a function that returns the product with the Gauss-Newton matrix of ``g(f(x))``.

    Parameters
    ----------
    f
        Function with an array for a result.
    g
        Loss of that array, half the sum of its squares by default.
    f_argnum
        The `argnum` of `f`.
    """

    @_with_name(f, "make_ggnvp", f_argnum)
    def make(*args: Any, **kwargs: Any) -> Any:
        args = tuple(cast_at(args, f_argnum))
        y, push = linearize(f, *args, argnums=f_argnum, **kwargs)
        pull, _ = make_vjp(f, f_argnum)(*args, **kwargs)
        hvp, _ = make_hvp(g)(y)
        return partial(_gauss_newton, args[f_argnum], push, hvp, pull)

    return make


def _gauss_newton(x: Any, push: Product, hvp: Product, pull: Product, v: Any) -> Any:
    return pull(hvp(push(match_dtypes(v, x))))


@transform
def multigrad_dict(fun: Callable[P, Differentiable]) -> Callable[P, OrderedDict[str, Any]]:
    """Return a function that computes gradients by all arguments, in a dict by parameter name."""
    signature = inspect.signature(fun)

    @functools.wraps(fun)
    def gradients(*args: Any, **kwargs: Any) -> OrderedDict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()

        def of_arguments(arguments: dict[str, Any]) -> Any:
            given = inspect.BoundArguments(signature, OrderedDict(arguments))
            return fun(*given.args, **given.kwargs)

        return OrderedDict(grad(of_arguments)(dict(bound.arguments)))

    return gradients


__getattr__, __dir__ = attributes(__name__, absent={"atuple": "Results are plain tuples."})
