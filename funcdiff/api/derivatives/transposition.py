"""`linear_transpose`: transposes linear functions, and refuses others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcdiff.api.calls.arguments import FunctionName, type_of
from funcdiff.api.calls.differentiated import trace_call
from funcdiff.api.calls.inputs import Inputs
from funcdiff.api.calls.selection import Selection
from funcdiff.api.calls.tracing import Trace, copy_arrays
from funcdiff.api.derivatives.linear_maps import Applied, Transposed
from funcdiff.api.derivatives.products import check_point
from funcdiff.api.derivatives.programs import transpose_recording
from funcdiff.api.derivatives.queries import has_rules
from funcdiff.api.signatures.products import Transposes
from funcdiff.api.signatures.typed import typed_as
from funcdiff.api.signatures.variables import Argnames, Argnums, Primals
from funcdiff.core.evaluate import executable
from funcdiff.core.program import Program
from funcdiff.core.quiet import quiet
from funcdiff.core.recording import program_of
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, user_location


@typed_as[Transposes]()
def linear_transpose(
    f: Callable[..., Any],
    *primals: *Primals,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    **kwargs: Any,
) -> Any:
    """Return the transpose of a linear function: of ``x ↦ A·x``, ``v ↦ Aᵀ·v``.

    Nothing is conjugated: for complex functions it is not the adjoint, which `vjp` gives.

    Parameters
    ----------
    f
        Function of arrays or containers, linear in the selected arguments together.
    *primals
        Arguments of the shapes and dtypes that `f` takes; those of the linear ones do not matter
        otherwise.
    argnums, argnames
        Numbers and names of the arguments in which `f` is linear, as for `grad`; by default all.
    **kwargs
        Further arguments of `f` by keyword.

    Returns
    -------
    callable
        ``f_transpose(v)`` takes a cotangent like the result of `f` and returns a tuple with one
        entry per linear argument, like it in structure, shapes and dtypes.

    Raises
    ------
    InputError
        If `f` is not linear, or a derivative rule of the user's in it is that of another function,
        or a leaf of a linear argument is not floating or complex.
    CotangentError
        By ``f_transpose``, if `v` does not match the result.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> transposed = fd.linear_transpose(lambda x: x[1:] - x[:-1], np.zeros(3))
    >>> transposed(np.array([1.0, 10.0]))
    (array([-1., -9., 10.]),)
    """
    check_point("linear_transpose", primals, kwargs)
    selection = Selection(f, "linear_transpose", argnums, argnames, every=True)
    inputs, trace = trace_call(f, selection, primals, kwargs)
    count = len(inputs.operands)
    program = transpose_recording(trace.recording, count)
    if program is None:
        why = "its derivative depends on the point, or knows nothing of a part, as of np.floor(x)"
        raise _not_linear(selection.name, why)
    _refuse_constant_part(inputs, trace, selection.name)
    _refuse_contrary_rules(inputs, trace, program, selection.name)

    apply = Applied(program, copy_arrays(trace.captures), trace)
    return Transposed(selection.name, apply, trace, inputs)


def _refuse_constant_part(inputs: Inputs, trace: Trace, name: FunctionName) -> None:
    """Refuse a function with f(0) ≠ 0, if its value is known: the transpose would drop that."""
    if any(isinstance(x, Tracer) for x in trace.captures):
        return
    origin: Sequence[Any] = [
        np.zeros(t.shape, t.dtype)[()] for t in (type_of(x) for x in inputs.operands)
    ]
    values = quiet(executable(program_of(*trace.recording)), *origin, *trace.captures)
    if any(np.any((y != 0) & (y == y)) for y in values):  # 0·inf is NaN and says nothing
        raise _not_linear(name, "it is not zero at zero")


def _refuse_contrary_rules(
    inputs: Inputs, trace: Trace, transposed: Program, name: FunctionName
) -> None:
    """Refuse a function whose derivative rules are those of another one.

    Rules are the user's word; whether ``v·f(x) = fᵀ(v)·x`` is seen at one x and v, coarsely, since
    a function with rules may be a solver that stops early.
    """
    program = program_of(*trace.recording)
    if not has_rules(program) or any(isinstance(x, Tracer) for x in trace.captures):
        return
    xs = [_uneven(type_of(x)) for x in inputs.operands]
    vs = [_uneven(t) for t in program.output_types]

    def differ() -> bool:
        ys = executable(program)(*xs, *trace.captures)
        cts = executable(transposed)(*trace.captures, *vs)
        left = [np.sum(v * y) for v, y in zip(vs, ys, strict=True)]
        right = [np.sum(ct * x) for ct, x in zip(cts, xs, strict=True)]
        difference = np.abs(sum(left) - sum(right))
        return bool(difference > 0.01 * sum(map(np.abs, [*left, *right])))  # which NaN is not

    if quiet(differ):
        raise _not_linear(name, "its derivative rules do not follow from its values")


def _uneven(type_: ArrayType) -> Any:
    """Return numbers between 1 and 2 that have nothing in common, the same ones each time."""
    places = np.arange(1, type_.size + 1).reshape(type_.shape)
    return (1 + places * np.sqrt(5) / 2 % 1).astype(type_.dtype)[()]


def _not_linear(name: FunctionName, why: str) -> InputError:
    return InputError(
        f"linear_transpose needs a linear function; {name} is none: {why}, at {user_location()}. "
        "Use fd.vjp(f, x) for the transpose of its derivative at x, or argnums= to say in which "
        "arguments it is linear."
    )
