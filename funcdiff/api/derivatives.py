"""First derivatives: grad, value_and_grad, vjp, jvp and linearize."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import Argnums, differentiable, is_numeric, name_of, normalized_argnums
from funcdiff.api.cotangents import checked_cotangents, checked_tangents
from funcdiff.api.tracing import Trace, rebuild, record, run
from funcdiff.core.builder import Builder, Recording, Tracer, constant, inline, program_of
from funcdiff.core.program import Program
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.ops.complex import conj
from funcdiff.passes.simplify import simplify
from funcdiff.space import zeros
from funcdiff.transforms.jvp import Mask, jvp as jvp_program
from funcdiff.transforms.linearize import Linearized, linearize as linearize_program
from funcdiff.transforms.transpose import transpose


class Inputs(NamedTuple):
    """The differentiated arguments of a call, taken apart.

    Attributes
    ----------
    operands
        Values of the floating and complex leaves.
    structures
        One per differentiated argument.
    numeric
        For each leaf of all of them, whether it is differentiated.
    others
        The leaves that are not.
    """

    operands: list[Any]
    structures: tuple[pytree.Structure, ...]
    numeric: tuple[bool, ...]
    others: list[Any]

    def rebuild(self, values: Sequence[Any], fill: Any = ...) -> tuple[Any, ...]:
        """Put one value per operand back into containers like the arguments."""
        numbers, rest = iter(values), iter(self.others)
        leaves = iter([
            next(numbers) if flag else (next(rest) if fill is ... else fill)
            for flag in self.numeric
        ])
        return tuple(
            pytree.unflatten(s, [next(leaves) for _ in range(s.leaf_count)])
            for s in self.structures
        )


def inputs_of(arguments: Sequence[Any], names: Callable[[int], str]) -> Inputs:
    """Take differentiated arguments apart; integer leaves are errors, strings pass through."""
    if len(arguments) == 1 and type(arguments[0]) is np.ndarray:  # the most common call
        operand = differentiable(arguments[0], pytree.LEAF, 0, names(0))
        return Inputs([operand], (pytree.LEAF,), (True,), [])
    operands: list[Any] = []
    structures, numeric, others = [], [], []
    for position, argument in enumerate(arguments):
        leaves, structure = pytree.flatten(argument)
        structures.append(structure)
        for k, leaf in enumerate(leaves):
            flag = is_numeric(leaf)
            numeric.append(flag)
            if flag:
                operands.append(differentiable(leaf, structure, k, names(position)))
            else:
                others.append(leaf)
    return Inputs(operands, tuple(structures), tuple(numeric), others)


def _call(
    f: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    has_aux: bool,
) -> tuple[Inputs, Trace]:
    """Trace a call of `f`, differentiated in some positional arguments."""
    positions = normalized_argnums(argnums, len(args), name_of(f))
    inputs = inputs_of([args[k] for k in positions], lambda k: f"argument {positions[k]}")

    def call(tracers: list[Tracer]) -> Any:
        changed = list(args)
        for k, value in zip(positions, inputs.rebuild(tracers), strict=True):
            changed[k] = value
        return f(*changed, **kwargs)

    return inputs, record(f, inputs.operands, call, has_aux=has_aux)


# ---- grad ------------------------------------------------------------------------------------


def value_and_grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes ``(f(x), ∇f(x))``."""

    @wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        value, aux, gradient = _gradient(f, argnums, args, kwargs, has_aux, holomorphic, True)
        return ((value, aux) if has_aux else value), gradient

    return value_and_gradient


def grad(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """Return a function that computes ``∇f(x)``."""

    @wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        _, aux, result = _gradient(f, argnums, args, kwargs, has_aux, holomorphic, False)
        return (result, aux) if has_aux else result

    return gradient


def _gradient(
    f: Callable[..., Any],
    argnums: Argnums,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    has_aux: bool,
    holomorphic: bool,
    wants_value: bool,
) -> tuple[Any, Any, Any]:
    """Return value (if wanted), auxiliary result and gradient."""
    inputs, trace = _call(f, argnums, args, kwargs, has_aux=has_aux)
    count = len(inputs.operands)
    program, leading = _gradient_program(trace.recording, count, holomorphic, wants_value)
    if program is None:
        raise _not_scalar(f, trace, leading, holomorphic)
    if trace.numeric != (True,):
        raise OutputError(
            f"grad needs a function that returns one scalar; {name_of(f)} returned "
            f"{trace.structure}, at {user_location()}. Return the scalar alone, or "
            "(scalar, rest) with has_aux=True."
        )
    results = run(program, [*inputs.operands, *trace.captures])
    gradients = _like(results[:count], args, inputs)
    trees = inputs.rebuild(gradients)
    value = aux = None
    if wants_value:
        value = results[count]
    if trace.aux is not None:
        aux = rebuild(trace.aux[0], trace.aux[1], results[count + wants_value :], trace.aux[2])
    return value, aux, trees[0] if isinstance(argnums, int) else trees


def _like(values: list[Any], args: Any, inputs: Inputs) -> list[Any]:
    """Return 0-d gradients of 0-d arrays as 0-d arrays."""
    return [
        np.asarray(v) if type(x) is np.ndarray and not x.shape and not isinstance(v, Tracer) else v
        for v, x in zip(values, inputs.operands, strict=True)
    ]


def _not_scalar(
    f: Callable[..., Any], trace: Trace, type_: ArrayType | None, holomorphic: bool
) -> OutputError:
    kind = "complex" if holomorphic else "real"
    cure = "Return one element (y[0]) or a sum (y.sum()), or use fd.jacobian or fd.vjp."
    if type_ is not None and not type_.shape:
        cure = {
            "c": "Return its real part or abs, or pass holomorphic=True for the derivative f'.",
            "f": "With holomorphic=True the result must be complex.",
        }.get(type_.dtype.kind, "An integer or boolean result has no derivative.")
    got = trace.structure if type_ is None else type_
    return OutputError(
        f"grad needs a function that returns a {kind} scalar; {name_of(f)} returned {got}, "
        f"at {user_location()}. {cure}"
    )


@lru_cache(maxsize=1024)
def _gradient_program(
    recording: Recording, count: int, holomorphic: bool, wants_value: bool
) -> tuple[Program | None, ArrayType | None]:
    """Return the program of gradients, value if wanted, and auxiliary outputs.

    If the output is not a scalar, return its type instead.
    """
    program = simplify(program_of(*recording))
    if not program.outputs:
        return None, None
    type_ = program.output_types[0]
    if type_.shape or type_.dtype.kind != ("c" if holomorphic else "f"):
        return None, type_
    split = linearized(program, count)
    with Builder("grad", closed=True, shares=True) as builder:
        xs = [builder.input(t) for t in program.input_types]
        primal = inline(split.primal, xs)
        ys, residuals = primal[: len(program.outputs)], primal[len(program.outputs) :]
        cts: list[Tracer] = [zeros(t) for t in program.input_types[:count]]
        if split.mask[0]:
            pulled = _pullback(split, count, (True,) + (False,) * (sum(split.mask) - 1))
            cts = inline(pulled, [*residuals, constant(1, type_)])
        if not holomorphic:
            cts = [conj(ct) for ct in cts]
        outputs = [*cts, *(ys if wants_value else ys[1:])]
        return simplify(builder.program(outputs)), type_


def linearized(program: Program, count: int) -> Linearized:
    """Split a program, differentiated in its first `count` inputs."""
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    split = linearize_program(program, active)
    return split._replace(linear=simplify(split.linear))


def _pullback(split: Linearized, count: int, present: Mask) -> Program:
    """Return the transposed linear part: of residuals and cotangents, to cotangents."""
    linear = (True,) * count + (False,) * split.residuals
    return simplify(transpose(split.linear, linear, present))


# ---- vjp -------------------------------------------------------------------------------------


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Return ``f(*primals)`` and the function of cotangents ``v ↦ Jᴴ·v``."""
    inputs = inputs_of(primals, lambda k: f"primal {k}")
    trace = record(
        f, inputs.operands, lambda ts: f(*inputs.rebuild(ts)), has_aux=has_aux
    )
    count = len(inputs.operands)
    primal, pullback, types, mask = _vjp_programs(
        trace.recording, count, sum(trace.numeric)
    )
    results = run(primal, [*inputs.operands, *trace.captures])
    outputs, residuals = results[: len(trace.recording[1])], results[len(trace.recording[1]) :]
    value = rebuild(trace.structure, trace.numeric, outputs, trace.others)
    residuals = [x.copy() if isinstance(x, np.ndarray) and _is_output(x, outputs) else x
                 for x in residuals]

    def f_vjp(*cotangent: Any) -> tuple[Any, ...]:
        cts = checked_cotangents(cotangent, trace, types, name_of(f))
        used = [ct for ct, flag in zip(cts, mask, strict=True) if flag]
        pulled = run(pullback, [*residuals, *used])
        return inputs.rebuild(_like(pulled, None, inputs))

    if trace.aux is None:
        return value, f_vjp
    aux = rebuild(
        trace.aux[0], trace.aux[1], outputs[sum(trace.numeric) :], trace.aux[2]
    )
    return value, f_vjp, aux


def _is_output(x: Any, outputs: list[Any]) -> bool:
    return any(x is y for y in outputs)


@lru_cache(maxsize=1024)
def _vjp_programs(
    recording: Recording, count: int, results: int
) -> tuple[Program, Program, tuple[ArrayType, ...], Mask]:
    """Return primal program, pullback, types of the result and which of it have tangents."""
    program = simplify(program_of(*recording))
    split = linearized(program, count)
    kept = tuple(flag for k, flag in enumerate(split.mask) if flag for flag in [k < results])
    pulled = _pullback(split, count, kept) if any(kept) else None
    types = program.output_types[:results]
    mask = split.mask[:results]
    with Builder("vjp", closed=True, shares=True) as builder:
        residuals = [builder.input(v.type) for v in split.linear.inputs[count:]]
        cts = [conj(builder.input(t)) for t, flag in zip(types, mask, strict=True) if flag]
        if pulled is None:
            outputs = [zeros(t) for t in program.input_types[:count]]
        else:
            outputs = [conj(ct) for ct in inline(pulled, [*residuals, *cts])]
        return simplify(split.primal), simplify(builder.program(outputs)), types, mask


# ---- jvp and linearize --------------------------------------------------------------------------


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, has_aux: bool = False
) -> Any:
    """Return ``f(*primals)`` and its directional derivative ``J·t``."""
    _same_length(primals, tangents)
    inputs = inputs_of(primals, lambda k: f"primals[{k}]")
    ts = checked_tangents(tangents, inputs.structures, inputs.numeric, inputs.operands)
    trace = record(f, inputs.operands, lambda xs: f(*inputs.rebuild(xs)), has_aux=has_aux)
    program = _jvp_program(trace.recording, len(inputs.operands), sum(trace.numeric))
    results = run(program, [*inputs.operands, *trace.captures, *ts])
    count = len(trace.recording[1])
    value = rebuild(trace.structure, trace.numeric, results[:count], trace.others)
    tangent = rebuild(trace.structure, trace.numeric, results[count:], trace.others)
    if trace.aux is None:
        return value, tangent
    rest = results[sum(trace.numeric) : count]
    return value, tangent, rebuild(trace.aux[0], trace.aux[1], rest, trace.aux[2])


def _same_length(primals: Sequence[Any], tangents: Sequence[Any]) -> None:
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise InputError(
            f"primals and tangents are tuples with one entry per argument, at {user_location()}: "
            "write fd.jvp(f, (x,), (t,))"
        )
    if len(primals) != len(tangents):
        raise InputError(
            f"{len(primals)} primals but {len(tangents)} tangents were given, at "
            f"{user_location()}. Give one tangent per primal."
        )


@lru_cache(maxsize=1024)
def _jvp_program(recording: Recording, count: int, results: int) -> Program:
    program = simplify(program_of(*recording))
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    wanted = (True,) * results + (False,) * (len(program.outputs) - results)
    pushed, mask = jvp_program(program, active, wanted)
    with Builder("jvp", closed=True, shares=True) as builder:
        outputs = inline(pushed, [builder.input(t) for t in pushed.input_types])
        total = len(program.outputs)
        # tangents of auxiliary outputs come last and are dropped
        return simplify(builder.program([*outputs[:total], *outputs[total : total + results]]))


def linearize(f: Callable[..., Any], *primals: Any) -> Any:
    """Return ``f(*primals)`` and the linear function of tangents ``t ↦ J·t``."""
    inputs = inputs_of(primals, lambda k: f"primal {k}")
    trace = record(f, inputs.operands, lambda ts: f(*inputs.rebuild(ts)))
    count = len(inputs.operands)
    split = _linearize_programs(trace.recording, count)
    results = run(split.primal, [*inputs.operands, *trace.captures])
    outputs, residuals = results[: len(split.mask)], results[len(split.mask) :]
    value = rebuild(trace.structure, trace.numeric, outputs, trace.others)
    residuals = [x.copy() if isinstance(x, np.ndarray) and _is_output(x, outputs) else x
                 for x in residuals]

    def f_jvp(*tangents: Any) -> Any:
        _same_length(primals, tangents)
        ts = checked_tangents(tangents, inputs.structures, inputs.numeric, inputs.operands)
        pushed = run(split.linear, [*ts, *residuals])
        return rebuild(trace.structure, trace.numeric, pushed, trace.others)

    return value, f_jvp


@lru_cache(maxsize=1024)
def _linearize_programs(recording: Recording, count: int) -> Linearized:
    program = simplify(program_of(*recording))
    active = (True,) * count + (False,) * (len(program.inputs) - count)
    split = linearize_program(program, active, (True,) * len(program.outputs))
    return split._replace(primal=simplify(split.primal), linear=simplify(split.linear))
