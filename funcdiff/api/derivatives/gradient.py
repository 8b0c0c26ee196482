"""Gradients of scalar functions, with the value and the auxiliary result of one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from funcdiff.api.calls.differentiated import call_traced, check_holomorphic, like_inputs
from funcdiff.api.calls.naming import named_after
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, run
from funcdiff.api.calls.wrong_calls import explains_calls
from funcdiff.api.derivatives import first_sight
from funcdiff.api.derivatives.programs import gradient_program
from funcdiff.api.signatures.functions import Grad, ValueAndGrad
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import Argnames, Argnums
from funcdiff.core.types import ArrayType
from funcdiff.errors import OutputError, user_location
from funcdiff.pytree import LEAF

_OF_SEVERAL: Final = {
    "grad": ", or use fd.jacobian or fd.vjp",
    "value_and_grad": ", or use fd.value_and_jacobian or fd.vjp",
    "hessian": ", or use fd.jacobian(fd.jacobian(f))",
}
"""What does the same for functions with several results."""


@typed_as[Grad]()
@explains_calls
def grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return a function that computes the gradient of a scalar function, ``∇f``.

    Parameters
    ----------
    f
        Function that returns a real scalar (shape ``()``).  It may use Python control flow.
    argnums
        Which arguments to differentiate: an int, or a tuple of ints.  A negative one counts from
        the last argument given by position.  The first, unless `argnames` is given.
    argnames
        Names of parameters to differentiate, alone or after those of `argnums`: a str or a tuple.
        The arguments may be given by position or by keyword.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    holomorphic
        Whether `f` is a holomorphic function with a complex value; the result is then the
        complex derivative f'.  Without it, the gradient by a complex `z` is the direction of
        steepest ascent, ``∂f/∂Re z + i·∂f/∂Im z``.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a gradient like the differentiated argument in
        structure, shapes and dtypes (a tuple of them if `argnums` or `argnames` is a tuple or
        both are given), or ``(gradient, aux)``.

    Raises
    ------
    InputError
        If `f` has no parameter of that name; when called, if an argument is not there or a
        differentiated leaf is an integer or boolean array.
    OutputError
        When called, if `f` does not return a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0, 3.0]))
    array([2., 4., 6.])
    >>> fd.grad(lambda x, scale: scale * x**2, argnames="scale")(3.0, scale=2.0)
    np.float64(9.0)
    """
    selection = Selection(f, "grad", argnums, argnames)

    @named_after(f, "grad", **selection.given, has_aux=has_aux, holomorphic=holomorphic)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        parts = parts_of(
            f, selection, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=False
        )
        return (parts.gradient, parts.aux) if has_aux else parts.gradient

    return gradient


@typed_as[ValueAndGrad]()
@explains_calls
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return a function that computes a scalar function and its gradient together, ``(f, ∇f)``.

    The parameters are those of `grad`.

    Returns
    -------
    callable
        Of the arguments of `f`, returning ``(value, gradient)``, or
        ``((value, aux), gradient)`` if `has_aux`.

    Raises
    ------
    InputError, OutputError
        When called, as by `grad`.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.value_and_grad(np.prod)(np.array([2.0, 3.0, 0.0]))
    (np.float64(0.0), array([0., 0., 6.]))
    """
    selection = Selection(f, "value_and_grad", argnums, argnames)

    @named_after(
        f,
        "value_and_grad",
        argnums=argnums,
        argnames=argnames,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        parts = parts_of(
            f, selection, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=True
        )
        return ((parts.value, parts.aux) if has_aux else parts.value), parts.gradient

    return value_and_gradient


class Parts(NamedTuple):
    """What a gradient program computes."""

    gradient: Any
    value: Any
    aux: Any


def gradient_function(
    f: Callable[..., Any],
    selection: Selection,
    *,
    has_aux: bool,
    holomorphic: bool,
) -> Callable[..., Any]:
    """Return a function that computes a gradient, for transforms that differentiate it again."""

    @named_after(f, "grad")
    def gradient(*args: Any, **kwargs: Any) -> Any:
        parts = parts_of(
            f, selection, args, kwargs, has_aux=has_aux, holomorphic=holomorphic, wants_value=False
        )
        return (parts.gradient, parts.aux) if has_aux else parts.gradient

    return gradient


def parts_of(
    f: Callable[..., Any],
    selection: Selection,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    has_aux: bool,
    holomorphic: bool,
    wants_value: bool,
    elementwise: bool = False,
) -> Parts:
    """Differentiate a call; `elementwise`, of an array, of which the sum is differentiated.

    Raises
    ------
    InputError
        If a differentiated leaf is an integer or boolean array, or real with `holomorphic`.
    OutputError
        If the result is not a scalar, or of the wrong kind.
    """
    inputs, trace = call_traced(f, selection, args, kwargs, has_aux=has_aux)
    count, operands = len(inputs.operands), [*inputs.operands, *trace.captures]
    kind = {"holomorphic": holomorphic, "wants_value": wants_value, "elementwise": elementwise}
    results = first_sight.gradient(trace, count, operands, **kind)
    if results is None:
        program, output = gradient_program(trace.recording, count, **kind)
        if program is None or not trace.is_array:
            raise _unsuitable(
                selection, trace, output, holomorphic=holomorphic, elementwise=elementwise
            )
        results = run(program, operands, trace)
    if holomorphic:
        check_holomorphic(inputs, trace, selection)
    trees = inputs.rebuild(like_inputs(results[:count], inputs))
    aux = trace.aux.rebuild(results[count + wants_value :]) if trace.aux is not None else None
    return Parts(selection.of(trees), results[count] if wants_value else None, aux)


def _unsuitable(
    selection: Selection,
    trace: Trace,
    output: ArrayType | None,
    *,
    holomorphic: bool,
    elementwise: bool,
) -> OutputError:
    wanted = "array" if elementwise else "scalar"
    got: object = output
    several = _OF_SEVERAL.get(selection.transform, "")
    cure = f"Return one element (y[0]) or a sum (y.sum()){several}."
    if output is None or not trace.is_array:
        got = trace.structure if trace.structure is not LEAF else type(trace.others[0]).__name__
        cure = f"Return the {wanted} alone, or ({wanted}, rest) with has_aux=True."
        if str(got) == "None":
            cure = f"Return the {wanted}: a function without a return statement returns None."
    elif elementwise or not output.shape:
        cure = {
            "c": "Return its real part or abs, or pass holomorphic=True for the derivative f'.",
            "f": "With holomorphic=True the result must be complex.",
        }.get(output.dtype.kind, "An integer or boolean result has no derivative.")
    kind = "complex" if holomorphic else "real"
    return OutputError(
        f"{selection.transform} needs a function that returns a {kind} {wanted}; "
        f"{selection.name} returned {got}, at {user_location()}. {cure}"
    )
