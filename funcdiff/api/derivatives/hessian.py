"""Second derivatives: Hessians as arrays, forward over reverse, and products with Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_function, check_optional_functions
from funcdiff.api.calls.differentiated import SplitCall
from funcdiff.api.calls.inputs import Selection, is_single
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.gradient import gradient_function
from funcdiff.api.derivatives.jacobian import jacobian_function
from funcdiff.api.derivatives.linear_maps import (
    check_count,
    check_tuples,
    jvp,
    linearize,
    tangents_per_argument,
    vjp,
)
from funcdiff.api.derivatives.sparse_matrices import sparse_option
from funcdiff.api.signatures.functions import Hessian, ValueGradAndHessian
from funcdiff.api.signatures.products import GaussNewtonProduct, Hvp, Vhp
from funcdiff.api.signatures.variables import Argnames, Argnums, Format, typed_as
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer


@typed_as[Hessian]()
@transform
def hessian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes the Hessian of a scalar function, ``∂²f/∂xᵢ∂xⱼ``.

    Computed forward over reverse: the gradient, pushed along all directions at once.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    chunk_size
        How many columns are computed at a time, as for `jacobian`.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is holomorphic with a complex value; needed for complex arguments.
    sparse, format, sparsity
        As for `jacobian`: whether to return sparse matrices of shape ``(x.size, x.size)``, of which
        format, and their pattern if it is known.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a container like the differentiated argument, of
        containers like it, of arrays of shape ``(*x.shape, *x.shape)``, or sparse matrices (a tuple
        of tuples of those where `grad` gives a tuple); or ``(hessian, aux)``.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad` and `jacobian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    array([[4., 6.],
           [6., 0.]])
    """
    selection = Selection(f, "hessian", argnums, argnames)
    gradient = gradient_function(f, selection, has_aux=has_aux, holomorphic=holomorphic)
    return jacobian_function(
        wraps(f, updated=())(gradient), selection, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic, has_aux=has_aux,
        sparse=sparse_option(
            sparse, format, sparsity, "forward", chunk_size=chunk_size, symmetric=True
        ),
    )  # fmt: skip


@typed_as[ValueGradAndHessian]()
@transform
def value_grad_and_hessian(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    chunk_size: int | None = None,
    progress: bool = False,
    holomorphic: bool = False,
    sparse: bool = False,
    format: Format = None,  # noqa: A002
    sparsity: Any = None,
) -> Any:
    """Return a function that computes a scalar function with both derivatives, ``(f, ∇f, ∇²f)``.

    The three share one evaluation of `f` and of its gradient.

    Parameters
    ----------
    f
        Function that returns a real scalar (shape ``()``).
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    chunk_size
        How many columns of the Hessian are computed at once, to bound the memory.
    progress
        Whether to say on stderr how far it is, as for `jacobian`.
    holomorphic
        Whether `f` is a holomorphic function with a complex value, as for `hessian`.
    sparse, format, sparsity
        Whether, and how, only the entries that may differ from zero are computed and returned as a
        sparse matrix, as for `hessian`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning ``(value, gradient, hessian)``, or
        ``((value, aux), gradient, hessian)`` if `has_aux`.

    Raises
    ------
    InputError, OutputError
        When called, as by `hessian`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> value, g, H = fd.value_grad_and_hessian(lambda x: x[0] ** 2 * x[1])(np.array([3.0, 2.0]))
    >>> value, g
    (np.float64(18.0), array([12.,  9.]))
    >>> H
    array([[4., 6.],
           [6., 0.]])
    """
    selection = Selection(f, "value_grad_and_hessian", argnums, argnames)
    value_and_gradient = gradient_function(
        f, selection, has_aux=has_aux, holomorphic=holomorphic, wants_value=True
    )

    @wraps(f)
    def gradient_beside_value(*args: Any, **kwargs: Any) -> Any:
        return value_and_gradient(*args, **kwargs)[::-1]

    derive = jacobian_function(
        gradient_beside_value, selection, chunk_size=chunk_size,
        progress=progress, holomorphic=holomorphic,
        has_aux=True, wants_value=True,
        sparse=sparse_option(
            sparse, format, sparsity, "forward", chunk_size=chunk_size, symmetric=True
        ),
    )  # fmt: skip

    def all_three(*args: Any, **kwargs: Any) -> Any:
        (gradient, value), H = derive(*args, **kwargs)
        return value, gradient, H

    return all_three


@typed_as[Hvp]()
@public
def hvp(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the product of the Hessian of a scalar function with a vector, ``∇²f(x)·t``.

    Computed as the directional derivative of the gradient (Pearlmutter 1994), at the cost of a few
    evaluations of `f`, without forming the Hessian.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    primals
        Tuple with the point, one value per argument.
    tangents
        Tuple with the vector: for each differentiated argument one entry, like it in structure,
        shapes and dtypes.  Arrays of integers are taken as floats.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    any
        Like the primal; a tuple with one entry per differentiated argument if there are several,
        or they were chosen by a tuple.  With ``has_aux=True``, ``(product, aux)``.

    Raises
    ------
    InputError, OutputError, CotangentError
        As `jvp` and `grad`.

    References
    ----------
    B. A. Pearlmutter, Fast exact multiplication by the Hessian, Neural Computation 6 (1994).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    array([6., 0.])
    """
    options = _options("hvp", f, primals, tangents, argnums, argnames, has_aux)
    gradient = _gradient("hvp", f, **options)
    _, *rest = jvp(gradient, primals, _floating(tangents), **options, **kwargs)
    return tuple(rest) if has_aux else rest[0]


def _gradient(
    transform: str,
    f: Callable[..., Any],
    *,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """Return the gradient as `grad` does, with the name of a transform for messages."""
    selection = Selection(f, transform, argnums, argnames)
    return wraps(f, updated=())(gradient_function(f, selection, has_aux=has_aux))


@typed_as[Vhp]()
@public
def vhp(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    cotangents: tuple[Any, ...],
    *,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the product of a vector with the Hessian of a scalar function, ``vᵀ·∇²f(x)``.

    Computed as the pullback of the gradient.  The Hessian is symmetric, so this is `hvp` in reverse
    mode: the same numbers, for functions that have no forward mode or are cheaper this way.

    Parameters
    ----------
    f
        Function that returns a real scalar.
    primals
        Tuple with the point, one value per argument.
    cotangents
        Tuple with the vector: for each differentiated argument one entry, like it in structure,
        shapes and dtypes.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `hvp`.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    any
        As by `hvp`.

    Raises
    ------
    InputError, OutputError, CotangentError
        As `vjp` and `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.vhp(lambda x: x[0] * x[1] ** 2, (np.array([1.0, 2.0]),), (np.array([0.0, 1.0]),))
    array([4., 2.])
    """
    options = _options("vhp", f, primals, cotangents, argnums, argnames, has_aux)
    gradient = _gradient("vhp", f, **options)
    _, pullback, *aux = vjp(gradient, *primals, **options, **kwargs)
    if not is_single(options["argnums"], argnames):
        value = pullback(_floating(cotangents))
    else:
        check_count(cotangents, 1, "cotangent")
        (value,) = pullback(*_floating(cotangents))
    return (value, *aux) if has_aux else value


@typed_as[GaussNewtonProduct]()
@public
def gauss_newton_product(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    loss: Callable[[Any], Any] | None = None,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the product of the Gauss-Newton matrix with a vector, ``Jᴴ·∇²L(y)·J·t``.

    It is the Hessian of ``L(f(x))`` without the term with second derivatives of `f`, and positive
    semidefinite if `L` is convex.  Neither matrix is formed (Schraudolph 2002).

    Parameters
    ----------
    f
        Function of arrays or containers that returns the residuals or predictions `y`.
    primals, tangents, argnums, argnames, has_aux, **kwargs
        As for `hvp`.
    loss
        Function `L` of what `f` returns, with a real scalar value; by default ``½·Σ|y|²``, of which
        the second derivative is the identity.

    Returns
    -------
    any
        As by `hvp`.

    Raises
    ------
    InputError, OutputError, CotangentError
        As `jvp`, and `hvp` of `loss`.

    References
    ----------
    N. N. Schraudolph, Fast curvature matrix-vector products for second-order gradient descent,
    Neural Computation 14 (2002).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> A = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> fd.gauss_newton_product(lambda x: A @ x, (np.zeros(2),), (np.array([1.0, 0.0]),))
    array([1., 2.])
    """
    name = "gauss_newton_product"
    check_optional_functions(name, loss=loss)
    options = _options(name, f, primals, tangents, argnums, argnames, has_aux)
    selection = Selection(f, name, options["argnums"], argnames)
    inputs = SplitCall(f, selection, primals, kwargs).inputs
    ts = inputs.rebuild(tangents_per_argument(_floating(tangents), inputs))
    y, f_jvp, *aux = linearize(f, *primals, **options, **kwargs)
    pushed, pullback = vjp(f_jvp, *ts)
    if loss is not None:
        _, pushed = jvp(_gradient(f"loss= of {name}", loss), (y,), (pushed,))
    pulled = pullback(pushed)
    value = selection.of(pulled)
    return (value, *aux) if has_aux else value


def _floating(vectors: Sequence[Any]) -> tuple[Any, ...]:
    """Return vectors with arrays of integers as floats.

    Nothing is differentiated by them, and SciPy asks for a product with an array of int8 to learn
    the dtype of an operator: ``minimize(method="trust-constr", hessp=...)``, ``LinearOperator``.
    """
    return pytree.map(_as_float, tuple(vectors))


def _as_float(leaf: Any) -> Any:
    if not isinstance(leaf, np.ndarray | Tracer) or leaf.dtype.kind not in "iu":
        return leaf
    x: Any = leaf
    return x.astype(np.float64)


def _options(
    name: str,
    f: Any,
    primals: Any,
    vectors: Any,
    argnums: Argnums | None,
    argnames: Argnames | None,
    has_aux: bool,  # noqa: FBT001
) -> dict[str, Any]:
    """Return the options of `jvp` or `vjp`: chosen is, by default, every primal, or the only one.

    Of the only one the product comes without a tuple.
    """
    check_function(f, name, "f")
    check_tuples(name, primals, vectors)
    if argnums is None and argnames is None:
        argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    return {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
