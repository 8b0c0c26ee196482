"""Derivatives by numbers: of any order by one, along a direction, and of all elements at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from funcdiff.api.calls.arguments import check_function, is_int
from funcdiff.api.calls.differentiated import check_holomorphic, check_outputs, trace_call
from funcdiff.api.calls.inputs import Inputs, Selection, type_of
from funcdiff.api.calls.tracing import Trace, arrange_results, run
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives.gradient import gradient_function
from funcdiff.api.derivatives.linear_maps import check_tuples, jvp
from funcdiff.api.derivatives.programs import derivative_program
from funcdiff.api.derivatives.sparse_jacobians import elements_met
from funcdiff.api.signatures.functions import Elementwise, Orders
from funcdiff.api.signatures.products import DirectionalDerivative
from funcdiff.api.signatures.variables import Argnames, Argnums, typed_as
from funcdiff.core.tracebacks import public
from funcdiff.errors import FuncdiffError, InputError, OutputError, user_location
from funcdiff.pytree import LEAF


@typed_as[Orders]()
@transform
def derivative(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    n: int = 1,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return the n-th derivative of a function of one number, ``dⁿf/dxⁿ``.

    Computed in forward mode from a single trace of `f`, so that `f` may return arrays and
    containers: the velocity and acceleration of a curve, say.

    Parameters
    ----------
    f
        Function of a number (shape ``()``), returning numbers, arrays or containers of them.
    argnums, argnames
        As for `grad`.  Of several arguments each gets its own n-th derivative, the others fixed.
    n
        The order, at least 0; of order 0 the function itself is returned.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    holomorphic
        Whether `f` is holomorphic; needed for a complex argument.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a derivative like its result in structure, shapes and
        dtypes (a tuple of them as by `grad`), or ``(derivative, aux)``.

    Raises
    ------
    InputError
        If `n` is no order; when called, if the argument is not one floating number, or complex
        without ``holomorphic=True``.
    OutputError
        When called, if a result is not floating or complex.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.derivative(lambda x: x**5, n=3)(2.0)
    np.float64(240.0)
    >>> fd.derivative(lambda t: np.stack([np.cos(t), np.sin(t)]), n=2)(0.0)
    array([-1., -0.])
    """
    if not is_int(n) or n < 0:
        raise InputError(
            f"the order of a derivative is an int, at least 0, got n={n!r}, at {user_location()}. "
            "Write fd.derivative(f, n=2) for the second derivative."
        )
    selection = Selection(f, "derivative", argnums, argnames)

    def derivative_f(*args: Any, **kwargs: Any) -> Any:
        inputs, trace = trace_call(f, selection, args, kwargs, has_aux=has_aux, orders=n)
        _check_numbers(inputs, selection, holomorphic=holomorphic)
        check_outputs(trace, selection)
        if holomorphic:
            check_holomorphic(inputs, trace, selection)
        count = sum(trace.numeric)
        results: list[Any] = []
        found = []
        for place in range(len(inputs.operands)):
            program = derivative_program(trace.recording, place, n, count)
            results = run(program, [*inputs.operands, *trace.captures], trace)
            found.append(trace.rebuild(results[:count]))
        value = selection.of(tuple(found))
        return arrange_results(value, None, trace, results[count:], wants_value=False)

    return derivative_f


def _check_numbers(inputs: Inputs, selection: Selection, *, holomorphic: bool) -> None:
    for structure in inputs.structures:
        if structure != LEAF or not all(inputs.numeric):
            raise InputError(
                f"fd.derivative differentiates {selection.name} by a number; it was called with "
                f"{structure}, at {user_location()}. Use fd.jacobian for containers."
            )
    for x in inputs.operands:
        type_ = type_of(x)
        if type_.shape:
            raise InputError(
                f"fd.derivative differentiates {selection.name} by a number; it was called with "
                f"{type_}, at {user_location()}. Use fd.elementwise_grad for an elementwise "
                "function, fd.vmap(fd.derivative(f)) at many points, else fd.jacobian."
            )
        if type_.dtype.kind == "c" and not holomorphic:
            raise InputError(
                f"the derivative by a complex number was asked for at {user_location()}. Pass "
                "holomorphic=True if the function is holomorphic; else use fd.grad of its real "
                "part."
            )


@typed_as[DirectionalDerivative]()
@public
def directional_derivative(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: tuple[Any, ...],
    *,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the derivative of a function in a direction, ``d/ds f(x + s·t)`` at ``s = 0``.

    The direction is not normalized.  This is the second of the results of `jvp`.

    Parameters
    ----------
    f
        Function of arrays or containers.
    primals
        Tuple with the point, one value per argument.
    tangents
        Tuple with the direction: for each differentiated argument one entry, like it in structure,
        shapes and dtypes.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `jvp`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    any
        Like the result of `f`, or ``(derivative, aux)`` with ``has_aux=True``.

    Raises
    ------
    InputError, CotangentError
        As by `jvp`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> x, t = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    >>> fd.directional_derivative(lambda x: np.sum(x**3), (x,), (t,))
    np.float64(12.0)
    """
    check_function(f, "directional_derivative", "f")
    check_tuples("directional_derivative", primals, tangents)
    options: dict[str, Any] = {"argnums": argnums, "argnames": argnames, "has_aux": has_aux}
    _, *rest = jvp(f, primals, tangents, **options, **kwargs)
    return tuple(rest) if has_aux else rest[0]


@typed_as[Elementwise]()
@transform
def elementwise_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return the derivative of an elementwise function, ``y'ᵢ = f'(xᵢ)``.

    Computed as the gradient of the sum of the result.  So an argument that is broadcast gets the
    sum over the elements that it meets.

    Parameters
    ----------
    f
        Function that returns one real array, of any shape.
    argnums, argnames, has_aux
        As for `grad`.
    holomorphic
        Whether `f` is holomorphic with a complex result; the derivative is then f'.

    Returns
    -------
    callable
        Of the arguments of `f`, returning what `grad` returns of the sum.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad`; and if an element of the result depends on several of an
        argument.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.elementwise_grad(np.square)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[2., 4.],
           [6., 8.]])
    """
    selection = Selection(f, "elementwise_grad", argnums, argnames)
    return gradient_function(
        f, selection, has_aux=has_aux, holomorphic=holomorphic,
        check=partial(_check_elementwise, selection),
    )  # fmt: skip


def _check_elementwise(selection: Selection, inputs: Inputs, trace: Trace) -> None:
    """Refuse a function of which an element of the result depends on several of an argument."""
    if not trace.is_alone or trace.rule_calls is not None:  # on values, perhaps in one mode only
        return
    count, operands = len(inputs.operands), [*inputs.operands, *trace.captures]
    try:
        most = elements_met(trace.recording, operands, count)
    except FuncdiffError:  # what cannot be pushed forward may have a gradient
        return
    if most <= 1:
        return
    raise OutputError(
        f"elementwise_grad needs an elementwise function; an element of the result of "
        f"{selection.name} depends on several elements of an argument, at {user_location()}. Use "
        "fd.jacobian(f) for all derivatives, or fd.grad(lambda x: f(x).sum()) for their sums."
    )
