"""Gradients of scalar functions, with the value and the auxiliary result of one call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from funcdiff.api.calls.differentiated import SplitCall, check_holomorphic
from funcdiff.api.calls.inputs import Inputs, Selection, like_inputs
from funcdiff.api.calls.repeated import note_derivation
from funcdiff.api.calls.tracing import Trace, arrange_results, nested_policy, run
from funcdiff.api.calls.transformed import transform
from funcdiff.api.derivatives import first_sight
from funcdiff.api.derivatives.on_values import Computed, with_rules_traced
from funcdiff.api.derivatives.programs import gradient_program
from funcdiff.api.signatures.functions import Grad, ValueAndGrad
from funcdiff.api.signatures.variables import Argnames, Argnums, typed_as
from funcdiff.core.types import ArrayType
from funcdiff.errors import OutputError, user_location
from funcdiff.ops.user.custom_known import RuleFailure

_OF_SEVERAL: Final = {
    "grad": ", or use fd.jacobian or fd.vjp",
    "value_and_grad": ", or use fd.value_and_jacobian or fd.vjp",
    "hessian": ", or use fd.jacobian(fd.jacobian(f))",
}
"""What does the same for functions with several results."""


@typed_as[Grad]()
@transform
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
    return gradient_function(f, selection, has_aux=has_aux, holomorphic=holomorphic)


@typed_as[ValueAndGrad]()
@transform
def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums | None = None,
    *,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Any:
    """Return a function that computes a scalar function and its gradient together, ``(f, ∇f)``.

    Parameters
    ----------
    f
        Function that returns a real scalar (shape ``()``).
    argnums, argnames
        Which arguments to differentiate, by number and by name, as for `grad`; the first unless
        they are given.
    has_aux
        Whether `f` returns ``(value, aux)``, of which only the value is differentiated.
    holomorphic
        Whether `f` is a holomorphic function with a complex value, as for `grad`.

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
    return gradient_function(
        f, selection, has_aux=has_aux, holomorphic=holomorphic, wants_value=True
    )


def gradient_function(
    f: Callable[..., Any],
    selection: Selection,
    *,
    has_aux: bool,
    holomorphic: bool = False,
    wants_value: bool = False,
    check: Callable[[Inputs, Trace], None] | None = None,
) -> Callable[..., Any]:
    """Return a function that computes a gradient; of the sum of an array that passes `check`.

    It raises `InputError` for a differentiated leaf that is an integer or boolean array, or real
    with `holomorphic`, and `OutputError` if the result is not a scalar, or of the wrong kind.
    """
    kind = {"holomorphic": holomorphic, "wants_value": wants_value, "elementwise": bool(check)}

    def compute(call: SplitCall, on_values: str) -> Computed:
        inputs, trace = call.inputs, call.trace(nested_policy(on_values=on_values), has_aux=has_aux)
        count, operands = len(inputs.operands), [*inputs.operands, *trace.captures]
        asked = {**kind, "evaluated": len(trace.first_values)} if trace.first_values else kind
        derived = gradient_program.peek(trace.recording, count, **asked)
        if check is not None and derived is None:
            check(inputs, trace)
        results = None if derived else first_sight.gradient(trace, count, operands, **kind)
        if results is None:
            program, output, known = derived or gradient_program(trace.recording, count, **asked)
            if program is None or not trace.is_alone:
                raise _unsuitable(
                    selection, trace, output, holomorphic=holomorphic, elementwise=bool(check)
                )
            operands += [trace.first_values[k] for k in known]
            results = run(program, operands, trace)
        return Computed(trace, results, slice(count))

    @note_derivation(f, *selection.key, has_aux, *kind.values())
    def gradient(*args: Any, **kwargs: Any) -> Any:
        call = SplitCall(f, selection, args, kwargs)
        try:
            found = compute(call, "pull")
        except RuleFailure as failure:
            raise failure.error from failure.error.__cause__
        if found.trace.rule_calls is not None:
            found = with_rules_traced(found, partial(compute, call, ""))
        inputs, (trace, results, _) = call.inputs, found
        count = len(inputs.operands)
        if holomorphic:
            check_holomorphic(inputs, trace, selection)
        trees = inputs.rebuild(like_inputs(results[:count], inputs))
        value = trace.scalar(results[count:]) if wants_value else None
        return arrange_results(
            selection.of(trees), value, trace, results[count + wants_value :], wants_value
        )

    return gradient


def _unsuitable(
    selection: Selection, trace: Trace, output: ArrayType | None, *,
    holomorphic: bool, elementwise: bool,
) -> OutputError:  # fmt: skip
    wanted = "array" if elementwise else "scalar"
    got: object = output
    several = _OF_SEVERAL.get(selection.transform, "")
    cure = f"Return one element (y[0]) or a sum (y.sum()){several}."
    if output is None or not trace.is_alone:
        got = trace.structure
        cure = f"Return the {wanted} alone, or ({wanted}, rest) with has_aux=True."
    elif output.size == 1 and output.shape and not elementwise:
        cure = f"It has one element: return that, y[{', '.join('0' for _ in output.shape)}]."
    elif elementwise or not output.shape:
        cure = {
            "c": "Return its real part or abs, or pass holomorphic=True for the derivative f'.",
            "f": "Leave out holomorphic=True, which is for functions that return complex numbers.",
        }.get(output.dtype.kind, "An integer or boolean result has no derivative.")
    kind = "complex" if holomorphic else "real"
    return OutputError(
        f"{selection.transform} needs a function that returns a {kind} {wanted}; "
        f"{selection.name} returned {got}, at {user_location()}. {cure}"
    )
