"""Rematerialization, `checkpoint`: intermediate values are recomputed in the backward pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

from funcdiff.api.calls.arguments import check_function, names_of, suggestion
from funcdiff.api.calls.inputs import Operands, as_tracers, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record, restore_kinds
from funcdiff.api.calls.transformed import FunctionName, transform
from funcdiff.api.control.bodies import forbid_changes
from funcdiff.api.signatures.functions import with_options
from funcdiff.core.program import Program
from funcdiff.core.recording.builder import current_builder
from funcdiff.core.recording.entries import program_of
from funcdiff.core.recording.quiet import errors_are_heard
from funcdiff.errors import InputError, user_location
from funcdiff.ops.control.rematerialization import Tap
from funcdiff.ops.control.rematerialization import checkpoint as checkpoint_op

P = ParamSpec("P")
R = TypeVar("R")


@with_options
@transform
def checkpoint(f: Callable[P, R], *, keep: str | Sequence[str] = ()) -> Callable[P, R]:
    """Return the same function, of which reverse mode keeps the arguments, not what it computes.

    Reverse mode needs values that the function computes on its way, its residuals.  They are
    usually kept from the forward pass; here they are computed once more when the backward pass
    comes to `f`, and freed when it leaves.  A chain of n steps, in segments of √n steps that are
    checkpointed, then needs the memory of 2√n steps, at the price of one more forward pass.
    Checkpointed functions may call checkpointed functions.

    Values and derivatives are those of `f`, in every mode and order.

    Parameters
    ----------
    f
        Function of arrays or containers, without side effects: it is traced once for each call,
        but its program may run more than once.  It may close over traced arrays.
    keep
        Names given with `tap` inside `f` to values that are kept nevertheless, because they are
        small, or dear to compute.

    Returns
    -------
    callable
        With the parameters and the result of `f`.

    Raises
    ------
    InputError
        When called in a trace, if a name in `keep` was not given to a value in `f`, or `f`
        changes an argument in place.

    References
    ----------
    T. Chen, B. Xu, C. Zhang, C. Guestrin, Training deep nets with sublinear memory cost,
    arXiv:1604.06174 (2016).
    A. Griewank, A. Walther, Algorithm 799: revolve, ACM TOMS 26 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> @fd.checkpoint
    ... def layer(w, x):
    ...     return np.tanh(w @ np.sin(x))
    >>> loss = lambda w, x: np.sum(layer(w, layer(w, x)))
    >>> fd.grad(loss)(np.eye(2), np.zeros(2))
    array([[0., 0.],
           [0., 0.]])
    """
    check_function(f, "checkpoint")
    names = names_of(keep)
    if names is None:
        raise InputError(
            f"keep={keep!r} of fd.checkpoint must hold names, at {user_location()}. Name values "
            'inside the function, x = fd.tap("x", x), and write keep=("x",).'
        )

    def checkpoint_f(*args: P.args, **kwargs: P.kwargs) -> R:
        if current_builder() is None or errors_are_heard():  # of each operation, when it is there
            return f(*args, **kwargs)
        invocation = Operands((args, kwargs))
        trace = _trace(f, invocation, names)
        body = program_of(*trace.recording)
        _check_names(body, names, f)
        operands = as_tracers([*invocation.xs, *trace.captures])
        results = restore_kinds(checkpoint_op(body, operands, names), trace.outputs)
        value: R = trace.rebuild(results)
        return value

    return checkpoint_f


def _trace(f: Callable[..., Any], invocation: Operands, names: tuple[str, ...]) -> Trace:
    outside = current_builder()
    noted = outside.taps if outside is not None else None
    return record(
        f,
        invocation.xs,
        forbid_changes(
            on_operands(f, invocation),
            f"{FunctionName(f)} is checkpointed, but",
            lambda k: f"(args, kwargs){invocation.paths[k]}",
        ),
        nested_policy(0),
        taps={} if names and noted is None else noted,
        weak=invocation.weak,
    )


def _check_names(body: Program, names: tuple[str, ...], f: Callable[..., Any]) -> None:
    tapped = [eq.params.name for eq in body.equations if isinstance(eq.params, Tap)]
    for name in names:
        if name in tapped:
            continue
        known = ", ".join(dict.fromkeys(tapped)) or "none"
        cure = suggestion(name, tapped, f"It names {known}.")
        raise InputError(
            f"keep={names!r} of fd.checkpoint: {FunctionName(f)} gives no value the name {name!r} "
            f"that its result needs, at {user_location()}. {cure} Write x = fd.tap({name!r}, x), "
            "outside the bodies of scan, while_loop and cond."
        )
