"""Named intermediate values: `tap` names them, `tap_values` and `tap_grads` return them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.api.calls.arguments import check_function, names_of, suggestion
from funcdiff.api.calls.inputs import Operands, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record, run
from funcdiff.api.calls.transformed import FunctionName, transform
from funcdiff.api.derivatives.programs import gradient_program
from funcdiff.api.signatures.variables import P, RealScalar, X
from funcdiff.core.atoms import Var
from funcdiff.core.origins import give_name
from funcdiff.core.policy import CLOSED, SHARED
from funcdiff.core.primitive import Operation, Params
from funcdiff.core.program import Equation, Program
from funcdiff.core.recording.builder import Builder, bind, constant, current_builder
from funcdiff.core.recording.entries import Recording, program_of
from funcdiff.core.running.memo import memoised
from funcdiff.core.running.walk import inline, inline_bodies, nested, walk, with_nested
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.numpy.border.promotion import array, as_number, is_weak
from funcdiff.numpy.memory import views
from funcdiff.ops.control.rematerialization import Checkpoint, Tap
from funcdiff.ops.control.rematerialization import tap as tap_op
from funcdiff.ops.user.custom_rules import Custom, Tangent
from funcdiff.ops.user.solved_equations import LinearSolve, Root
from funcdiff.passes.simplify import simplify
from funcdiff.space import add

_BODIES: Final = {
    "scan": (
        "scan, map or fori_loop",
        "as part of y from scan, of the result of map, in the carry of fori_loop",
    ),
    "while_loop": ("while_loop", "in the carry"),
    "cond": ("cond or switch", "as a result of every branch"),
}
"""What users call the bodies that primitives have, and how these return one value more."""


class Named(NamedTuple):
    """A name that is asked for: its numeric leaves, and where it was given."""

    name: str
    leaves: tuple[int, ...]
    places: tuple[str, ...]

    @property
    def taps(self) -> list[Tap]:
        """The parameters of its equations."""
        return [Tap(self.name, k) for k in self.leaves]


class Gradients(NamedTuple):
    """The program of the gradients; without a scalar result there is none, and `output` it is."""

    program: Program | None
    output: ArrayType | None


@memoised
def values_program(recording: Recording, wanted: tuple[Named, ...]) -> Program:
    """Return the program of the named values, leaf by leaf."""
    program = _program_with_taps(recording, wanted)
    found: dict[Params, Tracer] = {}

    def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
        if isinstance(eq.params, Tap):
            found[eq.params] = xs[0]
            return xs
        return bind(eq.primitive, eq.params, *xs)

    with Builder("tap_values", SHARED) as builder:
        walk(program, [builder.input(t) for t in program.input_types], rule)
        return simplify(builder.program([found[p] for name in wanted for p in name.taps]))


@memoised
def gradients_program(recording: Recording, wanted: tuple[Named, ...]) -> Gradients:
    """Return the program of the gradients with respect to the named values, leaf by leaf.

    To each value something is added, -0: that keeps every bit.  It is differentiated by that.
    """
    if len(recording[1]) != 1:
        return Gradients(None, None)
    program = _program_with_taps(recording, wanted)
    _check_used(program, wanted)
    types: dict[Params, ArrayType] = {
        eq.params: eq.results[0].type for eq in program.equations if isinstance(eq.params, Tap)
    }
    taps = [p for name in wanted for p in name.taps]
    _check_differentiable(taps, types, wanted)
    with Builder("tap_grads", CLOSED) as builder:
        added = {p: builder.input(types[p]) for p in taps}

        def rule(eq: Equation, xs: list[Tracer]) -> Sequence[Tracer]:
            if isinstance(eq.params, Tap):
                return [add(xs[0], added[eq.params])] if eq.params in added else xs
            return bind(eq.primitive, eq.params, *xs)

        result, *_ = walk(program, [builder.input(t) for t in program.input_types], rule)
        moved = builder.recording([result])
    derived = gradient_program(moved, len(taps), holomorphic=False, wants_value=False)
    if derived.program is None:
        return Gradients(None, derived.output)
    with Builder("tap_grads", SHARED) as builder:
        nothing = [constant(np.negative(types[p].dtype.type(0)), types[p]) for p in taps]
        xs = [builder.input(t) for t in program.input_types]
        return Gradients(builder.program(inline(derived.program, [*nothing, *xs])), None)


# ---- taps in programs ------------------------------------------------------------------------


def _names(params: Params) -> set[str]:
    """Return the names given in programs that parameters hold, at any depth."""
    inner = (eq for program in nested(params) for eq in with_nested(program.equations))
    return {eq.params.name for eq in inner if isinstance(eq.params, Tap)}


def _program_with_taps(recording: Recording, wanted: Sequence[Named]) -> Program:
    """Return the recorded program with all its taps, and those of checkpoints, in the open."""
    entries, outputs, origins, _ = recording
    kept = list(outputs)
    for number, (head, *_) in enumerate(entry or (None,) for entry in entries):
        if isinstance(head, Operation) and (isinstance(head.params, Tap) or _names(head.params)):
            kept += range(number, number + len(head.results))
    program = inline_bodies(
        program_of(entries, tuple(kept), origins),
        lambda eq: eq.params.body if isinstance(eq.params, Checkpoint) else None,
    )
    counts: dict[Params, int] = {}
    hidden: dict[str, Equation] = {}
    for eq in program.equations:
        if isinstance(eq.params, Tap):
            counts[eq.params] = counts.get(eq.params, 0) + 1
        else:
            hidden |= dict.fromkeys(_names(eq.params), eq)
    for name in wanted:
        _check_found(name, hidden, [counts.get(p, 0) for p in name.taps])
    return program


def _where_and_cure(eq: Equation) -> tuple[str, str]:
    """Return what messages say of a tap in a program that an equation holds."""
    p, name = eq.params, eq.primitive.name
    if isinstance(p, Custom | Tangent):
        return (
            f"in {p.name}, which has derivative rules of its own: only its results are seen",
            f"Return it from {p.name} beside the result, and tap it where {p.name} is called.",
        )
    if isinstance(p, Root | LinearSolve):
        return (
            f"in a function of {p.name}, where it has no single value",
            "Compute it from the solution, and tap that.",
        )
    loop, returned = _BODIES.get(name, (name, "among its results"))
    return (
        f"in the body of a {loop}, where it has no single value",
        f"Return it from the body, {returned}. Then tap that.",
    )


def _check_found(name: Named, hidden: dict[str, Equation], counts: Sequence[int]) -> None:
    given = f'fd.tap("{name.name}", ...) at {name.places[-1]}'
    if name.name in hidden:
        where, cure = _where_and_cure(hidden[name.name])
        raise InputError(f"{given} is {where}, at {user_location()}. {cure}")
    if any(n > 1 for n in counts):
        before = f", and before at {name.places[-2]}" if len(name.places) > 1 else ""
        raise InputError(
            f"{given} gives the name a second time{before}: it means two values, at "
            f'{user_location()}. Number them: fd.tap(f"{name.name}{{k}}", ...).'
        )
    if not all(counts):
        raise InputError(
            f"what {given} returned is used by nothing that is computed here, at "
            f'{user_location()}. Go on with it: x = fd.tap("{name.name}", x).'
        )


def _check_used(program: Program, wanted: Sequence[Named]) -> None:
    """Refuse a tap whose result is dropped where the value itself is used."""
    live = {program.outputs[0]}
    for eq in reversed(program.equations):
        if not live.isdisjoint(eq.results):
            live.update(eq.operands)
    places = {p: name.places[-1] for name in wanted for p in name.taps}
    for eq in program.equations:
        p, (x, *_) = eq.params, (*eq.operands, None)
        if p in places and eq.results[0] not in live and isinstance(x, Var) and x in live:
            assert isinstance(p, Tap)
            raise InputError(
                f'what fd.tap("{p.name}", ...) at {places[p]} returned is not used, but the value '
                f"itself is, so that the gradient would be zero, at {user_location()}. Go on with "
                f'what it returns: x = fd.tap("{p.name}", x).'
            )


def _check_differentiable(
    taps: Sequence[Tap], types: dict[Params, ArrayType], wanted: Sequence[Named]
) -> None:
    for p in taps:
        if not types[p].differentiable:
            others = ", ".join(repr(n.name) for n in wanted if n.name != p.name)
            raise InputError(
                f'the value of fd.tap("{p.name}", ...) is {types[p]}, which has no derivative, at '
                f"{user_location()}. Leave it out: names=({others})."
            )


class _Note(NamedTuple):
    """What is known of a name beside the program: the container, and where it was given."""

    container: Operands
    place: str

    @property
    def leaves(self) -> tuple[int, ...]:
        """Which leaves are numbers or arrays."""
        return tuple(k for k, flag in enumerate(self.container.flags) if flag)


_Taps: TypeAlias = dict[str, list[_Note]]


@public
def tap(name: str, x: X) -> X:
    """Return a value as it is, and give it a name for those who ask for it.

    `tap_values` returns the values of names, `tap_grads` gradients with respect to them, and
    ``checkpoint(f, keep=names)`` keeps them; to all others `tap` is the identity and costs nothing.

    Parameters
    ----------
    name
        A name, used once in a call of the function: ``f"layer{k}"`` in a loop.
    x
        An array, a number or any container of them.

    Returns
    -------
    any
        `x` itself.  Go on with it: ``x = fd.tap("x", x)``.

    Raises
    ------
    InputError
        If the name is not a str.

    Examples
    --------
    >>> import funcdiff as fd
    >>> def f(x):
    ...     hidden = fd.tap("hidden", x**2)
    ...     return 5.0 * hidden
    >>> print(f(3.0), fd.tap_values(f)(3.0), fd.tap_grads(f)(3.0))
    45.0 {'hidden': np.float64(9.0)} {'hidden': np.float64(5.0)}
    """
    if not isinstance(name, str):
        raise InputError(
            f"the name of a tap is a str, got {type(name).__name__}, at {user_location()}: write "
            'x = fd.tap("x", x).'
        )
    builder = current_builder()
    if builder is None or builder.taps is None:
        return x
    name = str.__str__(name)  # of a class of its own, it might be compared in ways of its own
    note = _Note(Operands(x), user_location())
    builder.taps.setdefault(name, []).append(note)
    leaves = note.container.leaves
    same: X = note.container.tree([_tap_leaf(leaves[k], Tap(name, k)) for k in note.leaves])
    return same


def _tap_leaf(leaf: Any, p: Tap) -> Any:
    """Return a leaf named, on the memory of the leaf, as it is where nothing is recorded."""
    x = array(leaf)
    y = tap_op(x, p)
    give_name(y, f"{p.name}_{p.leaf}" if p.leaf else p.name)
    return as_number(y) if is_weak(leaf) else views.view(x, y, lambda same: same)


@transform
def tap_values(
    f: Callable[P, Any], *, names: str | Sequence[str] | None = None
) -> Callable[P, dict[str, Any]]:
    """Return a function that computes the values named with `tap` in `f`.

    Parameters
    ----------
    f
        Function of arrays or containers of arrays.  It may be what a transform returned:
        ``tap_values(vmap(f))`` has the values of all examples.
    names
        The names that are wanted; by default all.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a dict of the values, in the order of the taps.

    Raises
    ------
    InputError
        When called: if there is no such name, a name was given twice, or in the body of a loop
        or a branch, or what `tap` returned is not used.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def network(x):
    ...     for k in range(3):
    ...         x = fd.tap(f"layer{k}", np.maximum(2 * x - 1, 0))
    ...     return x.sum()
    >>> fd.tap_values(network, names="layer1")(np.array([1.0, 2.0]))
    {'layer1': array([1., 5.])}
    """
    check_function(f, "tap_values")
    chosen = _names_asked(names)

    def tap_values_f(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        invocation, trace, taps = _trace(f, args, kwargs, orders=0)
        wanted = _find_names(f, taps, chosen)
        program = values_program(trace.recording, wanted)
        results = run(program, [*invocation.xs, *trace.captures], trace)
        return _by_name(results, taps, wanted)

    return tap_values_f


@transform
def tap_grads(
    f: Callable[P, RealScalar], *, names: str | Sequence[str] | None = None
) -> Callable[P, dict[str, Any]]:
    """Return a function that computes the gradients of `f` with respect to its named values.

    For ``f(x) = g(x, h(x))`` with ``h`` named it is ``∂g/∂h``: how the result changes if
    something is added to the value there.  It is what PyTorch's ``retain_grad`` and hooks are for.

    Parameters
    ----------
    f
        Function of any arguments that returns a real scalar.
    names
        The names that are wanted; by default all.

    Returns
    -------
    callable
        Of the arguments of `f`, returning a dict of gradients like the values, conjugated for
        complex ones as by `grad`, in the order of the taps.

    Raises
    ------
    InputError
        When called: as by `tap_values`, or if a named value is an integer or boolean array.
    OutputError
        When called, if the result is not a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> def loss(x):
    ...     attention = fd.tap("attention", np.exp(x) / np.sum(np.exp(x)))
    ...     return attention @ np.array([1.0, 2.0, 3.0])
    >>> fd.tap_grads(loss)(np.zeros(3))
    {'attention': array([1., 2., 3.])}
    """
    check_function(f, "tap_grads")
    chosen = _names_asked(names)

    def tap_grads_f(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        invocation, trace, taps = _trace(f, args, kwargs, orders=1)
        wanted = _find_names(f, taps, chosen)
        program, output = gradients_program(trace.recording, wanted)
        if program is None or not trace.is_alone:
            raise _unsuitable(f, trace, output)
        results = run(program, [*invocation.xs, *trace.captures], trace)
        return _by_name(results, taps, wanted)

    return tap_grads_f


def _names_asked(names: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    chosen = names_of(names)
    if chosen is None:
        raise InputError(
            f"names={names!r} must hold names given with fd.tap, at {user_location()}: write "
            'names=("layer0", "layer1").'
        )
    return chosen


def _trace(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, orders: int
) -> tuple[Operands, Trace, _Taps]:
    """Trace a call with every number in its arguments, noting the taps."""
    invocation = Operands((args, kwargs))
    taps: _Taps = {}
    severed = not orders and current_builder() is None
    trace = record(
        f, invocation.xs, on_operands(f, invocation), nested_policy(orders, severed=severed),
        taps=taps, weak=invocation.weak,
    )  # fmt: skip
    return invocation, trace, taps


def _find_names(
    f: Callable[..., Any], taps: _Taps, chosen: tuple[str, ...] | None
) -> tuple[Named, ...]:
    for name in chosen or ():
        if name not in taps:
            cure = suggestion(name, taps, f"It names {', '.join(taps) or 'no value'}.")
            raise InputError(
                f"{FunctionName(f)} gives no value the name {name!r}, at {user_location()}. {cure}"
            )
    return tuple(
        Named(name, notes[-1].leaves, tuple(note.place for note in notes))
        for name, notes in taps.items()
        if chosen is None or name in chosen
    )


def _by_name(results: Sequence[Any], taps: _Taps, wanted: Sequence[Named]) -> dict[str, Any]:
    rest = iter(results)
    return {
        name.name: taps[name.name][-1].container.tree([next(rest) for _ in name.leaves])
        for name in wanted
    }  # fmt: skip


def _unsuitable(f: Callable[..., Any], trace: Trace, output: ArrayType | None) -> OutputError:
    got = output if output is not None else trace.structure
    return OutputError(
        f"tap_grads needs a function that returns a real scalar; {FunctionName(f)} returned "
        f"{got}, at {user_location()}. Return one element (y[0]) or a sum (y.sum())."
    )
