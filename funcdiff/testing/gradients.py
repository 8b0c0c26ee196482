"""`check_grads`: the derivatives of a function against central differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import FunctionName, is_numeric, operand
from funcdiff.api.products import jvp, vjp
from funcdiff.core.builder import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.testing.differences import (
    central_difference,
    direction,
    disagreement,
    is_smooth,
    truncation,
)

MODES: Final = ("forward", "reverse")


class _Function(NamedTuple):
    """A function of the floating leaves of its arguments, returning those of its result.

    Attributes
    ----------
    call
        ``call(leaves) -> leaves``.
    name
        What messages call it.
    inputs, outputs
        Paths of the leaves, such as ``args[0]['w']``.
    """

    call: Callable[[Sequence[Any]], list[Any]]
    name: str
    inputs: list[str]
    outputs: list[str]


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = MODES,
) -> None:
    """Assert that the derivatives of `f` at a point equal central differences.

    Along random directions `t` and `v` it compares `jvp` with ``d/dh f(x + h·t)`` and `vjp` with
    ``d/dh Re⟨v, f(x + h·t)⟩``, then does the same with these derivatives, as functions of the
    point, up to the given order.

    Parameters
    ----------
    f
        Function of arrays and containers, returning arrays and containers.
    args
        The point, one entry per argument.  Floating and complex leaves are differentiated; all
        others (integers, strings) stay as they are.
    order
        Up to which derivative; 2 checks second derivatives in all mixes of the modes.
    modes
        ``"forward"`` (jvp), ``"reverse"`` (vjp), or both.

    Raises
    ------
    AssertionError
        If they differ by more than the dtype explains.  The message names the leaves and the
        entries that disagree and gives both numbers.
    InputError
        If nothing can be differentiated, or a mode is unknown.

    Notes
    -----
    Differences know nothing of kinks: keep the point away from those of `f` by more than 0.001
    (float32: by 0.1), and its second derivatives of moderate size.

    References
    ----------
    W. Squire, G. Trapp, "Using Complex Variables to Estimate Derivatives of Real Functions",
    SIAM Review 40 (1998), on the errors of differences.

    Examples
    --------
    >>> import numpy as np
    >>> from funcdiff.testing import check_grads
    >>> check_grads(lambda p: np.tanh(p["w"] @ p["x"]), [{"w": np.eye(2), "x": np.ones(2)}])
    """
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown or isinstance(modes, str):
        raise InputError(
            f"check_grads: modes={modes!r} is not made of {MODES}, at {user_location()}. "
            f"Give a tuple, such as modes=('reverse',)."
        )
    function, leaves = _flattened(f, tuple(args))
    _check(function, leaves, order, modes, np.random.default_rng(0))


def _flattened(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[_Function, list[Any]]:
    leaves, structure = pytree.flatten(args)
    paths = pytree.paths(structure)
    chosen = [k for k, leaf in enumerate(leaves) if is_numeric(leaf) and is_smooth(leaf)]
    if not chosen:
        raise InputError(
            f"check_grads: no argument of {FunctionName(f)} holds a floating or complex number, at "
            f"{user_location()}. Give args=(x,) with x such as 2.0, and integers only beside it."
        )

    def call(values: Sequence[Any]) -> list[Any]:
        changed = list(leaves)
        for k, value in zip(chosen, values, strict=True):
            changed[k] = value
        return [leaf for _, leaf in _results(f(*pytree.unflatten(structure, changed)))]

    xs = [operand(leaves[k]) for k in chosen]
    with np.errstate(all="ignore"):
        outputs = [f"result{path}" for path, _ in _results(f(*args))]
    return _Function(call, str(FunctionName(f)), [f"args{paths[k]}" for k in chosen], outputs), xs


def _results(tree: Any) -> list[tuple[str, Any]]:
    """Return the floating leaves of a result with their paths."""
    leaves, structure = pytree.flatten(tree)
    return [
        (path, leaf)
        for path, leaf in zip(pytree.paths(structure), leaves, strict=True)
        if is_numeric(leaf)
        and (leaf.type.differentiable if isinstance(leaf, Tracer) else is_smooth(leaf))
    ]


def _check(
    f: _Function,
    xs: list[Any],
    order: int,
    modes: Sequence[str],
    random: np.random.Generator,
) -> None:
    if order < 1 or not f.outputs:
        return
    ts = [direction(x, random) for x in xs]
    vs = [direction(y, random) for y in f.call(xs)]
    if "forward" in modes:
        _check_forward(f, xs, ts)
        _check(_forward_derivative(f, ts), xs, order - 1, modes, random)
    if "reverse" in modes:
        _check_reverse(f, xs, ts, vs)
        _check(_reverse_derivative(f, vs), xs, order - 1, modes, random)


def _forward_derivative(f: _Function, ts: Sequence[Any]) -> _Function:
    return _Function(
        lambda xs: jvp(lambda *zs: f.call(zs), tuple(xs), tuple(ts))[1],
        f"the jvp of {f.name}",
        f.inputs,
        f.outputs,
    )


def _reverse_derivative(f: _Function, vs: list[Any]) -> _Function:
    return _Function(
        lambda xs: list(vjp(lambda *zs: f.call(zs), *xs)[1](vs)),
        f"the vjp of {f.name}",
        f.inputs,
        [f"gradient of {path}" for path in f.inputs],
    )


# ---- forward ---------------------------------------------------------------------------------


def _check_forward(f: _Function, xs: list[Any], ts: list[Any]) -> None:
    if _forward_fault(f, xs, ts) is None:
        return
    for k, path in enumerate(f.inputs):
        for entry, unit in _units(xs[k]):
            moved = [unit if j == k else np.zeros_like(t) for j, t in enumerate(ts)]
            fault = _forward_fault(f, xs, moved)
            if fault is not None:
                raise _fault(f, "jvp", f"{fault}, along {path}{entry}")
    raise _fault(f, "jvp", f"{_forward_fault(f, xs, ts)}, along a random direction")


def _forward_fault(f: _Function, xs: list[Any], ts: list[Any]) -> str | None:
    ys, pushed = f.call(xs), _forward_derivative(f, ts).call(xs)
    expected = central_difference(f.call, xs, ts)
    for path, y, got, wanted in zip(f.outputs, ys, pushed, expected, strict=True):
        found = disagreement(got, wanted, truncation([*xs, y]), _scale(y))
        if found:
            return f"{path}, {found}"
    return None


# ---- reverse ---------------------------------------------------------------------------------


def _check_reverse(f: _Function, xs: list[Any], ts: list[Any], vs: list[Any]) -> None:
    """Compare <Jᴴ·v, t> with differences of <v, f>, and look for the entry if they differ."""
    gradient = _reverse_derivative(f, vs).call(xs)
    if _reverse_fault(f, xs, ts, vs, gradient) is None:
        return
    for k, path in enumerate(f.inputs):
        for entry, unit in _units(xs[k]):
            moved = [unit if j == k else np.zeros_like(t) for j, t in enumerate(ts)]
            fault = _reverse_fault(f, xs, moved, vs, gradient)
            if fault is not None:
                raise _fault(f, "vjp", f"gradient of {path}{entry}, {fault}")
    fault = _reverse_fault(f, xs, ts, vs, gradient)
    raise _fault(f, "vjp", f"{fault}, along a random direction")


def _reverse_fault(
    f: _Function, xs: list[Any], ts: list[Any], vs: list[Any], gradient: list[Any]
) -> str | None:
    for path, x, g in zip(f.inputs, xs, gradient, strict=True):
        if np.shape(g) != np.shape(x) or np.asarray(g).dtype != np.asarray(x).dtype:
            return f"{path}: {np.asarray(g).dtype}{np.shape(g)} for a {x.dtype}{np.shape(x)}"
    ys = f.call(xs)
    wanted = central_difference(lambda zs: [_inner(vs, f.call(zs))], xs, ts)[0]
    size = max([float(np.sum(np.abs(v * y))) for v, y in zip(vs, ys, strict=True)], default=0.0)
    return disagreement(_inner(gradient, ts), wanted, truncation([*xs, *ys]), max(1.0, size))


def _inner(vs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return Re⟨v, y⟩."""
    return sum((np.sum(np.conj(v) * y).real for v, y in zip(vs, ys, strict=True)), np.float64(0))


# ---- entries -----------------------------------------------------------------------------------


def _units(x: Any) -> list[tuple[str, Any]]:
    """Return a name and a direction for every entry; two for a complex one."""
    units = []
    for place in np.ndindex(np.shape(x)):
        for step, part in ((1, ""), (1j, ".imag"))[: 2 if x.dtype.kind == "c" else 1]:
            t = np.zeros(np.shape(x), x.dtype)
            t[place] = step
            units.append((f"{list(place) if place else ''}{part}", t[()]))
    return units


def _scale(y: Any) -> float:
    return max(1.0, float(np.abs(y).max(initial=0.0)))


def _fault(f: _Function, mode: str, detail: str) -> AssertionError:
    return AssertionError(
        f"the {mode} of {f.name} differs from central differences: {detail} (differences)"
    )
