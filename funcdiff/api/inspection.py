"""`trace` shows the program of a call; `stop_gradient` makes a value a constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import check_function
from funcdiff.api.calls.inputs import Operands, on_operands
from funcdiff.api.calls.tracing import nested_policy, record
from funcdiff.api.calls.transformed import FunctionName, transform
from funcdiff.api.signatures.variables import P, X
from funcdiff.core.program import Program
from funcdiff.core.recording.entries import program_of
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.numpy.border.calling import note_call
from funcdiff.ops.structure import structural
from funcdiff.passes.simplify import simplify


@transform
def trace(f: Callable[P, Any]) -> Callable[P, Program]:
    """Return a function that shows the program of a call instead of its result.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays.  Derivatives work too:
        ``trace(grad(f))(x)`` is the program of the gradient.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a `Program` whose inputs are the numeric leaves of the
        arguments, in order; then the arrays that `f` closes over.

    Raises
    ------
    InputError
        If `f` is no function; when called, if an argument holds what cannot be traced.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> print(fd.trace(lambda x: 3.5 * np.sin(x))(1.0))
    program(%0: f64[]) {
      %1: f64[] = sin %0
      %2: f64[] = mul 3.5:f64[], %1
      return %2
    }
    """
    check_function(f, "trace")

    def trace_f(*args: P.args, **kwargs: P.kwargs) -> Program:
        invocation = Operands((args, kwargs))
        recorded = record(
            f, invocation.xs, on_operands(f, invocation), nested_policy(0, lifts=False), taps={},
            weak=invocation.weak,
        )  # fmt: skip
        return simplify(program_of(*recorded.recording))

    return trace_f


@public
def stop_gradient(x: X) -> X:
    """Return a value as a constant: its derivative is zero in every mode.

    Parameters
    ----------
    x
        An array, a number or any container of them.

    Returns
    -------
    any
        The same values.

    Raises
    ------
    InputError
        If `x` is a function.
    PytreeError
        If a container cannot be taken apart, as by `pytree.flatten`.

    Examples
    --------
    >>> import funcdiff as fd
    >>> fd.grad(lambda x: x * fd.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    if callable(x) and pytree.flatten(x)[1] == pytree.LEAF:
        raise InputError(
            f"fd.stop_gradient takes values, but the function {FunctionName(x)} was given, at "
            f"{user_location()}. Stop what it returns: fd.stop_gradient(f(x))."
        )
    stopped: X = pytree.map(_stop_leaf, x)
    return stopped


def _stop_leaf(leaf: Any) -> Any:
    if isinstance(leaf, Tracer):
        y = structural.stop_gradient(leaf)
        stopped = type(leaf)(y.builder, y.atom, y.type)  # an array, a scalar or a number, as it was
        note_call(np.ndarray.copy, (leaf,), {}, stopped)
        return stopped
    return leaf.copy() if isinstance(leaf, np.ndarray) else leaf
