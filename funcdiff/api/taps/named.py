"""Named intermediate values: `tap` names them, `tap_values` and `tap_grads` return them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from funcdiff.api.calls.arguments import (
    FunctionName,
    check_function,
    names_of,
    suggestion,
)
from funcdiff.api.calls.naming import name_after
from funcdiff.api.calls.operands import Operands, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record, run
from funcdiff.api.calls.transformed import transform
from funcdiff.api.signatures.variables import P, RealScalar, X
from funcdiff.api.taps.programs import Named, gradients_program, values_program
from funcdiff.core.builder import current_builder
from funcdiff.core.origins import give_name
from funcdiff.core.types import ArrayType
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.numpy.border.promotion import array, as_number, is_weak
from funcdiff.numpy.memory import views
from funcdiff.ops.control.checkpoint import Tap
from funcdiff.ops.control.checkpoint import tap as tap_op


class _Note(NamedTuple):
    """What is known of a name beside the program: the container, and where it was given."""

    container: Operands
    place: str

    @property
    def leaves(self) -> tuple[int, ...]:
        """Which leaves are numbers or arrays."""
        return tuple(k for k, flag in enumerate(self.container.flags) if flag)


_Taps: TypeAlias = dict[str, list[_Note]]


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

    @name_after(f, "tap_values")
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

    @name_after(f, "tap_grads")
    def tap_grads_f(*args: P.args, **kwargs: P.kwargs) -> dict[str, Any]:
        invocation, trace, taps = _trace(f, args, kwargs, orders=1)
        wanted = _find_names(f, taps, chosen)
        program, output = gradients_program(trace.recording, wanted)
        if program is None or not trace.is_array:
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
