"""Derivatives as linear maps at a point: `jvp`, `vjp`, `linearize`, and `linear_transpose`.

The maps that are returned pickle as their program and its residuals, without the function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from funcdiff.api.calls.cotangents import cotangent_operands, tangent_operands
from funcdiff.api.calls.differentiated import SplitCall, trace_call
from funcdiff.api.calls.inputs import Inputs, Selection, like_inputs, type_of
from funcdiff.api.calls.tracing import Trace, copy_arrays, nested_policy, nowhere, run
from funcdiff.api.calls.transformed import FunctionName, Uncalled
from funcdiff.api.derivatives.first_sight import (
    PULLBACK,
    PUSHFORWARD,
    Applied,
    LinearMap,
    pushforward,
)
from funcdiff.api.derivatives.on_values import Computed, RulesPullback, with_rules_traced
from funcdiff.api.derivatives.programs import jvp_program, transpose_recording
from funcdiff.api.derivatives.queries import has_rules
from funcdiff.api.signatures.products import Jvp, Linearize, Transposes, Vjp
from funcdiff.api.signatures.variables import Argnames, Argnums, Primals, typed_as
from funcdiff.core.program import Program
from funcdiff.core.recording.entries import program_of
from funcdiff.core.recording.quiet import quiet
from funcdiff.core.running.evaluate import executable
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import CotangentError, InputError, user_location
from funcdiff.ops.user.custom_known import NeedsTracingError, RuleFailure


class _Output(NamedTuple):
    """All that is asked of an output once its trace has ended."""

    type: ArrayType


def _shape_of(trace: Trace) -> Trace:
    """Return what a trace tells of the result, without what was recorded."""
    outputs: list[Any] = [_Output(y.type) for y in trace.outputs]
    return trace._replace(
        recording=((), (), None, ()), captures=[], locate=nowhere, outputs=outputs, calls=None,
        rule_calls=None, aux=None, decisions=(), evaluated=(),
    )  # fmt: skip


class _LinearMap(Uncalled):
    """A linear map at a point of a function; `trace` is the call that was differentiated."""

    def __init__(
        self, name: object, apply: Callable[..., list[Any]], trace: Trace, inputs: Inputs
    ) -> None:
        self._name, self._apply, self._trace, self._inputs = name, apply, trace, inputs

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self._name), self._apply, _shape_of(self._trace), self._inputs)


class Pullback(_LinearMap):
    """``v ↦ Jᴴ·v``."""

    _called, _as_elsewhere = "f_vjp", " for y.backward(gradient=v)"

    def __repr__(self) -> str:
        return f"the pullback of {self._name}"

    @public
    def __call__(self, *cotangent: Any, **named: Any) -> tuple[Any, ...]:
        """Return the cotangents of the arguments for one of the result."""
        if named:
            raise CotangentError(
                f"{self._called} takes the cotangent by position, but {', '.join(named)}= was "
                f"given, at {user_location()}. Write {self._called}(v){self._as_elsewhere}."
            )
        trace = self._trace
        types = [y.type for y in trace.outputs[: sum(trace.numeric)]]
        cts = cotangent_operands(cotangent, trace, types, self._name)
        return self._inputs.rebuild(like_inputs(self._apply(cts), self._inputs))


class Transposed(Pullback):
    """``v ↦ Aᵀ·v``."""

    _called, _as_elsewhere = "f_transpose", ""

    def __repr__(self) -> str:
        return f"the transpose of {self._name}"


class Pushforward(_LinearMap):
    """``t ↦ J·t``."""

    _called = "f_jvp"

    def __repr__(self) -> str:
        return f"the derivative of {self._name}"

    @public
    def __call__(self, *tangents: Any) -> Any:
        """Return the tangent of the result for those of the arguments."""
        trace = self._trace
        pushed = self._apply(tangents_per_argument(tangents, self._inputs))
        return trace.rebuild(pushed)


# ---- tangents ----------------------------------------------------------------------------------


def check_count(vectors: Sequence[Any], count: int, what: str = "tangent") -> None:
    """Refuse more or fewer tangents or cotangents than differentiated arguments."""
    if len(vectors) != count:
        raise InputError(
            f"the number of differentiated arguments is {count}, but {len(vectors)} {what}s were "
            f"given, at {user_location()}. Give one {what} per differentiated argument."
        )


def tangents_per_argument(tangents: Sequence[Any], inputs: Inputs) -> list[Any]:
    """Return one operand per differentiated leaf for tangents, one per argument."""
    check_count(tangents, len(inputs.structures))
    return tangent_operands(tangents, inputs.structures, inputs.numeric, inputs.operands)


@typed_as[Vjp]()
@public
def vjp(
    f: Callable[..., Any],
    *primals: *Primals,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the value of a function and its pullback, ``v ↦ Jᴴ·v``.

    ``f_vjp(v)`` is what ``x.grad`` holds after ``y.backward(gradient=v)`` in PyTorch: the rows of
    the Jacobian ``J = ∂y/∂x``, weighted by `v` and summed, without forming `J`: the vector-Jacobian
    product, in reverse mode.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    *primals
        The point, one value per argument; differentiated leaves are floating or complex.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    y
        ``f(*primals)``.
    f_vjp : callable
        ``f_vjp(v)`` takes a cotangent of the structure, shapes and dtypes of `y` and returns a
        tuple with one entry per differentiated argument, like it in structure, shapes and
        dtypes.  For a real scalar `y`, `v` may be left out and is 1.0.  It may be called any
        number of times.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If a differentiated leaf is an integer or boolean array, or an argument is not there.
    CotangentError
        By ``f_vjp``, if `v` does not match `y`; nothing is broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> y, f_vjp = fd.vjp(lambda x: x**2, np.array([1.0, 2.0, 3.0]))
    >>> f_vjp(np.array([0.1, 1.0, 10.0]))
    (array([ 0.2,  4. , 60. ]),)
    """
    check_point("vjp", primals, kwargs)
    selection = Selection(f, "vjp", argnums, argnames, every=True)
    call = SplitCall(f, selection, primals, kwargs)
    inputs, traced = call.inputs, _tracing(call, has_aux=has_aux)
    trace, count = traced(inputs.operands, "pull"), len(inputs.operands)
    operands = [*inputs.operands, *trace.captures]
    pull = (
        LinearMap(PULLBACK, trace, count, operands)
        if trace.rule_calls is None
        else RulesPullback(f, trace, operands, count, traced)
    )

    return with_aux(trace, pull.outputs, Pullback(FunctionName(f), pull, trace, inputs))


def _tracing(call: SplitCall, *, has_aux: bool) -> Callable[..., Trace]:
    """Return what traces a call at some operands, with rules on values as `Policy` has it."""

    def trace_at(operands: Sequence[Any], on_values: str = "") -> Trace:
        return call.trace(nested_policy(on_values=on_values), operands, has_aux=has_aux)

    return trace_at


def with_aux(trace: Trace, outputs: list[Any], second: Any) -> Any:
    """Return ``(value, second)``, and the auxiliary result if there is one."""
    count = sum(trace.numeric)
    value = trace.rebuild(outputs[:count])
    if trace.aux is None:
        return value, second
    return value, second, trace.aux.rebuild(outputs[count:])


@typed_as[Jvp]()
@public
def jvp(
    f: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the value of a function and its directional derivative, ``J·t``.

    This is the Jacobian-vector product, in forward mode: the columns of the Jacobian
    ``J = ∂y/∂x``, weighted by the tangents and summed, without forming `J`.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    primals
        Tuple with the point, one value per argument.
    tangents
        Tuple with the direction: for each differentiated argument one entry, like it in structure,
        shapes and dtypes.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    y
        ``f(*primals)``.
    ty
        The derivative of `y` in the direction of the tangents, like `y`.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If tangents and differentiated arguments differ in number, or a leaf is an integer or
        boolean array.
    CotangentError
        If a tangent does not match its primal.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> fd.jvp(np.sin, (0.0,), (2.0,))
    (np.float64(0.0), np.float64(2.0))
    """
    check_tuples("jvp", primals, tangents)
    selection = Selection(f, "jvp", argnums, argnames, every=True)
    call = SplitCall(f, selection, primals, kwargs)
    inputs, traced = call.inputs, _tracing(call, has_aux=has_aux)
    ts = tangents_per_argument(tangents, inputs)

    def compute(on_values: str) -> Computed:
        trace = traced(inputs.operands, on_values)
        operands, sizes = [*inputs.operands, *trace.captures], (len(ts), sum(trace.numeric))
        program = jvp_program.peek(trace.recording, *sizes)
        results = None if program else pushforward(trace, operands, ts, sizes[1])
        if results is None:
            program = program or jvp_program(trace.recording, *sizes)
            results = run(program, [*operands, *ts], trace)
        return Computed(trace, results, slice(len(trace.recording[1]), None))

    try:
        found = compute("push")
    except RuleFailure as failure:
        if not isinstance(failure.error, NeedsTracingError):
            raise failure.error from failure.error.__cause__
        found = compute("")
    if found.trace.rule_calls is not None:
        found = with_rules_traced(found, partial(compute, ""))
    trace, results, _ = found
    count = len(trace.recording[1])
    tangent = trace.rebuild(results[count:])
    return with_aux(trace, results[:count], tangent)


def check_tuples(name: str, primals: Any, vectors: Any) -> None:
    """Refuse a point or a direction that is not in a tuple."""
    if not isinstance(primals, tuple | list) or not isinstance(vectors, tuple | list):
        raise InputError(
            f"fd.{name} takes the point and the vector as tuples with one entry per argument, at "
            f"{user_location()}: write fd.{name}(f, (x,), (t,))."
        )


def check_point(name: str, primals: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Refuse a call without arguments, meant for a function that is returned: ``fd.vjp(f)(x)``."""
    if not primals and not kwargs:
        raise InputError(
            f"fd.{name} was called without a point, at {user_location()}: write fd.{name}(f, x)."
        )


@typed_as[Linearize]()
@public
def linearize(
    f: Callable[..., Any],
    *primals: *Primals,
    argnums: Argnums | None = None,
    argnames: Argnames | None = None,
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """Return the value of a function and its derivative there, the linear map ``t ↦ J·t``.

    The work that depends on the point only is done once, so many directions are cheap.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays, returning the same.
    *primals
        The point, one value per argument.
    argnums, argnames
        Numbers and names of the arguments to differentiate, as for `grad`; by default all of the
        primals.
    has_aux
        Whether `f` returns ``(y, aux)``, of which only `y` is differentiated.
    **kwargs
        Further arguments of `f` by keyword; differentiated only if they are in `argnames`.

    Returns
    -------
    y
        ``f(*primals)``.
    f_jvp : callable
        ``f_jvp(*tangents)`` takes one tangent per differentiated argument, like it in structure,
        shapes and dtypes, and returns a tangent like `y`.
    aux
        Only with ``has_aux=True``.

    Raises
    ------
    InputError
        If a differentiated leaf is an integer or boolean array, or an argument is not there.
    CotangentError
        By ``f_jvp``, if a tangent does not match its primal.

    Examples
    --------
    >>> import funcdiff as fd
    >>> y, f_jvp = fd.linearize(lambda x: x**3, 2.0)
    >>> f_jvp(1.0), f_jvp(0.5)
    (np.float64(12.0), np.float64(6.0))
    """
    check_point("linearize", primals, kwargs)
    selection = Selection(f, "linearize", argnums, argnames, every=True)
    inputs, trace = trace_call(f, selection, primals, kwargs, has_aux=has_aux)
    operands = [*inputs.operands, *trace.captures]
    derivative = LinearMap(PUSHFORWARD, trace, len(inputs.operands), operands)

    pushforward = Pushforward(FunctionName(f), derivative, trace, inputs)
    return with_aux(trace, derivative.outputs, pushforward)


@typed_as[Transposes]()
@public
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
