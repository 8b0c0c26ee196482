"""Derivatives along directions against central differences, and the report of where they differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.arguments import FunctionName, is_numeric, operand
from funcdiff.core.builder import Tracer
from funcdiff.errors import InputError, user_location
from funcdiff.testing.differences import central_difference, disagreement, is_smooth, truncation

_MOST_REPORTED: Final = 5


class Subject(NamedTuple):
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


class Accuracy(NamedTuple):
    """What a difference may be; None follows from the dtypes.

    Attributes
    ----------
    rtol
        Relative to the largest entry of the derivative.
    atol
        Absolute.
    eps
        The step of the differences.
    """

    rtol: float | None
    atol: float | None
    eps: float | None

    def fault(self, got: Any, wanted: Any, values: Iterable[Any], scale: float) -> str | None:
        """Return where a derivative differs from differences of functions of these values."""
        rtol = truncation(values) if self.rtol is None else self.rtol
        found = disagreement(got, wanted, rtol, scale, self.atol)
        return None if found is None else f"{found} by differences"


class Point(NamedTuple):
    """Arguments taken apart: which leaves are differentiated, and how all are put together.

    Attributes
    ----------
    structure
        Of the tuple of arguments.
    leaves
        All of them.
    chosen
        Places of those that are floating or complex.
    """

    structure: pytree.Structure
    leaves: list[Any]
    chosen: list[int]

    def arguments(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the arguments with other values of the chosen leaves."""
        return self._filled(self.leaves, values)

    def tangents(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return tangents of the arguments: zero for integers, text and flags as they are."""
        still = [np.zeros_like(x)[()] if is_numeric(x) else x for x in self.leaves]
        return self._filled(still, values)

    def _filled(self, leaves: list[Any], values: Sequence[Any]) -> tuple[Any, ...]:
        changed = list(leaves)
        for k, value in zip(self.chosen, values, strict=True):
            changed[k] = value
        filled: tuple[Any, ...] = pytree.unflatten(self.structure, changed)
        return filled


def taken_apart(
    f: Callable[..., Any], args: Sequence[Any], check: str
) -> tuple[Subject, Point, list[Any]]:
    """Return a function of leaves, its point, and the values of the leaves there.

    Raises
    ------
    InputError
        If `args` is no tuple of arguments, or nothing goes in or comes out that has a derivative.
    """
    if not isinstance(args, tuple | list):
        raise InputError(
            f"{check}: args is a {type(args).__name__}, at {user_location()}. Give a tuple with "
            f"one entry per argument: {check}(f, ..., (x,))."
        )
    leaves, structure = pytree.flatten(tuple(args))
    chosen = [k for k, leaf in enumerate(leaves) if is_numeric(leaf) and is_smooth(leaf)]
    if not chosen:
        raise InputError(
            f"{check}: no argument of {FunctionName(f)} holds a floating or complex number, at "
            f"{user_location()}. Give args=(x,) with x such as 2.0, and integers only beside it."
        )
    point = Point(structure, leaves, chosen)
    with np.errstate(all="ignore"):
        outputs = [f"result{path}" for path, _ in smooth_leaves(f(*args))]
    if not outputs:
        raise InputError(
            f"{check}: {FunctionName(f)} returned no floating or complex number, so there is "
            f"nothing to check, at {user_location()}. Return one."
        )
    paths = pytree.paths(structure)
    subject = Subject(
        lambda xs: [leaf for _, leaf in smooth_leaves(f(*point.arguments(xs)))],
        str(FunctionName(f)),
        [f"args{paths[k]}" for k in chosen],
        outputs,
    )
    return subject, point, [operand(leaves[k]) for k in chosen]


def smooth_leaves(tree: Any) -> list[tuple[str, Any]]:
    """Return the floating and complex leaves of a result with their paths."""
    pairs, _ = pytree.flatten_with_paths(tree)
    return [
        (path, leaf)
        for path, leaf in pairs
        if is_numeric(leaf)
        and (leaf.type.differentiable if isinstance(leaf, Tracer) else is_smooth(leaf))
    ]


# ---- forward ---------------------------------------------------------------------------------


def check_forward(
    f: Subject,
    xs: list[Any],
    ts: list[Any],
    push: Callable[[Sequence[Any]], list[Any]],
    accuracy: Accuracy,
    what: str,
) -> None:
    """Compare ``push(t)`` with differences along `t`, and look for the entries if they differ."""

    def fault(tangents: list[Any]) -> str | None:
        wanted = central_difference(f.call, xs, tangents, accuracy.eps)
        for path, y, got, expected in zip(f.outputs, ys, push(tangents), wanted, strict=True):
            found = accuracy.fault(got, expected, [*xs, y], _scale(y))
            if found:
                return f"{path}, {found}"
        return None

    ys = f.call(xs)
    whole = fault(ts)
    if whole is not None:
        entries = ((entry, fault(unit)) for entry, unit in _units(f.inputs, xs))
        found = (f"{text}, along {entry}" for entry, text in entries if text is not None)
        raise _error(f"the {what} of {f.name}", found, whole)


# ---- reverse ---------------------------------------------------------------------------------


def check_reverse(
    f: Subject,
    xs: list[Any],
    ts: list[Any],
    vs: list[Any],
    gradient: list[Any],
    accuracy: Accuracy,
    what: str,
) -> None:
    """Compare ``⟨Jᴴ·v, t⟩`` with differences of ``⟨v, f⟩``, and look for the entries."""
    for path, x, g in zip(f.inputs, xs, gradient, strict=True):
        if np.shape(g) != np.shape(x) or np.asarray(g).dtype != np.asarray(x).dtype:
            raise AssertionError(
                f"the {what} of {f.name} gives {np.asarray(g).dtype}{np.shape(g)} for {path}, "
                f"which is {x.dtype}{np.shape(x)}"
            )
    ys = f.call(xs)
    scale = max([1.0, sum(float(np.sum(np.abs(v * y))) for v, y in zip(vs, ys, strict=True))])

    def fault(tangents: list[Any]) -> str | None:
        def weighted(zs: Sequence[Any]) -> list[Any]:
            return [_inner(vs, f.call(zs))]

        wanted = central_difference(weighted, xs, tangents, accuracy.eps)[0]
        return accuracy.fault(_inner(gradient, tangents), wanted, [*xs, *ys], scale)

    whole = fault(ts)
    if whole is not None:
        entries = ((entry, fault(unit)) for entry, unit in _units(f.inputs, xs))
        found = (f"gradient of {entry}, {text}" for entry, text in entries if text is not None)
        raise _error(f"the {what} of {f.name}", found, whole)


def _inner(vs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """Return Re⟨v, y⟩."""
    return sum((np.sum(np.conj(v) * y).real for v, y in zip(vs, ys, strict=True)), np.float64(0))


# ---- entries -----------------------------------------------------------------------------------


def _units(paths: Sequence[str], xs: Sequence[Any]) -> Iterable[tuple[str, list[Any]]]:
    """Yield a name and a direction for every entry of every leaf; two for a complex one."""
    still = [np.zeros_like(x)[()] for x in xs]
    for k, (path, x) in enumerate(zip(paths, xs, strict=True)):
        for place in np.ndindex(np.shape(x)):
            for step, part in ((1, ""), (1j, ".imag"))[: 2 if x.dtype.kind == "c" else 1]:
                t = np.zeros(np.shape(x), x.dtype)
                t[place] = step
                entry = f"{path}{list(place) if place else ''}{part}"
                yield entry, [*still[:k], t[()], *still[k + 1 :]]


def _scale(y: Any) -> float:
    return max(1.0, float(np.abs(y).max(initial=0.0)))


def _error(what: str, entries: Iterable[str], whole: str) -> AssertionError:
    """Report the first entries that differ; where none does alone, the direction that did."""
    found = list(islice(entries, _MOST_REPORTED + 1))
    lines = found[:_MOST_REPORTED] or [f"{whole}, along a random direction"]
    if len(found) > _MOST_REPORTED:
        lines.append("and more")
    return AssertionError("\n  ".join([f"{what} differs from central differences:", *lines]))
