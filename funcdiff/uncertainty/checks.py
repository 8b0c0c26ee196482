"""Checks of a linearization: second-order terms and kinks within a standard deviation.

They look along displacements of one standard deviation in each uncertain number, of both signs:
see `Covariance.displacements`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.calls.operands import Operands, on_operands
from funcdiff.api.calls.tracing import Trace, nested_policy, record, run
from funcdiff.api.compiling.guarded import program_of_trace
from funcdiff.api.derivatives.linear_maps import jvp
from funcdiff.core.decisions import Decisions
from funcdiff.core.program import Program
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, user_frame, user_location
from funcdiff.reading.explanation.inspections import distances, has_kinks, phrase
from funcdiff.reading.provenance import Notes, origin_of, taking_notes
from funcdiff.uncertainty.coordinates import Coordinates
from funcdiff.uncertainty.covariance import Covariance

_STRONG: Final = 0.1
"""The part of the standard deviation from which on a second-order term is told."""
_HARM: Final = 0.05
"""The part of it by which a function, two deviations away, leaves its parabola beyond a kink."""
_HIDDEN: Final = (
    "fd.propagate: two standard deviations away the function is not what its derivatives of first "
    "and second order say, and kinks are not seen {}. Compare with samples=, or give check=False."
)
_STEP: Final = 2.0**-10
"""The part of a displacement along which the slope of a distance is taken."""


def doubts(
    g: Callable[[Any], Any], x: Any, C: Covariance, u: Any, to: Coordinates, *, alone: bool
) -> Iterator[str]:
    """Say why standard deviations `u` of a function of vectors may be wrong.

    Results depend on one number each if these are `alone`: then all signs are as good as any.
    """
    program, unknown = None, ""
    try:
        trace = trace_with_decisions(g, x)
        program = program_of_trace(trace)
    except ConcreteValueError as error:
        unknown, smooth = f"where values decide ({error})", g
    else:

        def smooth(z: Any) -> Any:
            return run(program, [z, *trace.captures])[0]

    D = C.displacements(1 if alone else 16).astype(x.dtype)
    *_, second = _expansion(smooth, x, D)
    yield from _strong(np.sqrt(np.mean(second**2, axis=0)) / 2, u, to)
    if unknown or (program is not None and has_kinks(program)):
        D = C.displacements().astype(x.dtype)
        close = {} if program is None else _close(program, [x, *trace.captures], D)
        if (close or unknown) and _does_harm(g, x, D, _expansion(smooth, x, D), u):
            yield from _tell(g, x, close) if close else [_HIDDEN.format(unknown)]


def _expansion(f: Callable[[Any], Any], x: Any, D: Any) -> tuple[Any, Any, Any]:
    """Return a function and its first and second derivatives along columns."""

    def along(d: Any) -> Any:
        (y, _), (first, second) = jvp(lambda z: jvp(f, (z,), (d,)), (x,), (d,))
        return y, first, second

    try:
        if D.shape[1] == 1:  # vmap would cost twice the time
            y, first, second = along(D[:, 0])
            return y[None], first[None], second[None]
        return vmap(along)(D.T)  # type: ignore[no-any-return]
    except NotDifferentiableError:  # twice: then by differences
        y = f(x)
        above, below = (np.stack([f(x + s * d) for d in D.T]) for s in (1, -1))
        return y + 0 * above, (above - below) / 2, above + below - 2 * y


def trace_with_decisions(g: Callable[[Any], Any], x: Any) -> Trace:
    """Trace a function as `jit` does, with what it decides by."""
    given = Operands(((x,), {}))
    return record(
        g, given.xs, on_operands(g, given), nested_policy(2, eager=False, lifts=False),
        types=given.types, decisions=Decisions,
    )  # fmt: skip


def _strong(term: Any, u: Any, to: Coordinates) -> Iterator[str]:
    strong = term > _STRONG * u
    if np.any(strong):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            k = int(np.argmax(np.where(strong, term / u, 0)))
        yield (
            f"fd.propagate: the second-order term of the result{to.name(k)} is {term[k]:.3g}, and "
            f"its standard deviation to first order {u[k]:.3g}, at {user_location()}: the function "
            "bends within the uncertainty of its arguments. Compare with order=2 or samples=, or "
            "give check=False."
        )


def _close(program: Program, arrays: Sequence[Any], D: Any) -> dict[int, float]:
    """Return which kinks are within a standard deviation, and how far the nearest element is."""
    x, *captures = arrays
    with np.errstate(all="ignore"):
        kinks, here = zip(*distances(program, arrays), strict=True)
        squares = [np.zeros_like(gap) for gap in here]
        for d in _STEP * D.T:
            sides = [
                [gap for _, gap in distances(program, [x + s * d, *captures])] for s in (-1, 1)
            ]
            for k, (gap, *moved) in enumerate(zip(here, *sides, strict=False)):
                if all(m.shape == gap.shape for m in moved):  # the slope is that of one side
                    squares[k] += np.max([np.abs(m - gap) for m in moved], axis=0) ** 2
        found = {}
        for k, (gap, square) in enumerate(zip(here, squares, strict=True)):
            sigma = np.sqrt(square / D.shape[1]) / _STEP
            close = (gap <= sigma) & (sigma > 0)
            if not kinks[k].convention:
                found[k] = 0.0
            elif np.any(close):
                found[k] = float(np.min(gap[close] / sigma[close]))
    return found


def _does_harm(
    g: Callable[[Any], Any], x: Any, D: Any, expansion: tuple[Any, Any, Any], u: Any
) -> bool:
    """Whether a function is not its expansion to second order, two deviations away.

    Loops that converge decide by small numbers, which a kink is always near, and does not matter.
    """
    y, first, second = expansion
    even, odd = y + 2 * second, 2 * first
    with np.errstate(all="ignore"):
        for d, a, b in zip(2 * D.T, even, odd, strict=True):
            for sign in (-1, 1):
                try:
                    y = g(x + sign * d)
                except Exception:  # it is not defined there, or an error is the other branch
                    return True
                wrong = np.abs(y - (a + sign * b))
                if not np.all(wrong <= _HARM * u + 1e-9 * np.abs(a)):
                    return True
    return False


def _tell(g: Callable[[Any], Any], x: Any, close: dict[int, float]) -> Iterator[str]:
    with taking_notes(Notes(user_frame())):
        trace = trace_with_decisions(g, x)
        program = program_of_trace(trace)
    met = [kink for kink, _ in distances(program, [x, *trace.captures])]
    told: dict[tuple[Any, str], tuple[float, str]] = {}
    for k, distance in close.items():
        inner, eq, convention = met[k]
        place, word = origin_of(inner, eq.results[0]).place, phrase(inner, eq)
        known = told.get((place, word), (np.inf, ""))
        told[place, word] = min(known, (distance, convention))
    for (place, word), (distance, convention) in told.items():
        if not convention:
            yield _HIDDEN.format(f"within {word}{f' at {place}' if place else ''}")
            continue
        yield (
            f"fd.propagate: {word}{f' at {place}' if place else ''} has a kink {distance:.2g} "
            f"standard deviations away ({convention}), which linearization does not see. Compare "
            "with samples=, or give check=False."
        )
