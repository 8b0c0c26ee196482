"""Checks of a linearization: second-order terms and kinks within a standard deviation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from funcdiff.api.batching import vmap
from funcdiff.api.calls.tracing import run
from funcdiff.api.coordinates import Coordinates
from funcdiff.api.derivatives.linear_maps import jvp
from funcdiff.core.program import Program
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, user_frame, user_location
from funcdiff.reading.explanation.inspections import distances, has_kinks, phrase
from funcdiff.reading.provenance import Notes, origin_of, taking_notes, trace_with_decisions
from funcdiff.uncertainty.covariance import Covariance

_STRONG: Final = 0.1
"""The part of the standard deviation from which on a second-order term is told."""
_PART: Final = 2.0**-4
"""The part of a displacement over which values are compared."""
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
    """Say why standard deviations `u` may be wrong; `alone`, results depend on one number each."""
    program, unknown = None, ""
    try:
        program, captures = trace_with_decisions(g, x)
    except ConcreteValueError as error:
        unknown, smooth = f"where values decide ({error})", g
    else:

        def smooth(z: Any) -> Any:
            return run(program, [z, *captures])[0]

    D = C.displacements(1 if alone else 16).astype(x.dtype)
    if unknown or not _is_straight(smooth, x, D, u):  # an unknown one may be slow to call
        *_, second = _expansion(smooth, x, D)
        yield from _strong(np.sqrt(np.mean(second**2, axis=0)) / 2, u, to)
    if unknown or (program is not None and has_kinks(program)):
        D = C.displacements().astype(x.dtype)
        close = {} if program is None else _close(program, [x, *captures], D)
        if (close or unknown) and _does_harm(g, x, D, _expansion(smooth, x, D), u):
            yield from _tell(g, x, close) if close else [_HIDDEN.format(unknown)]


def _is_straight(f: Callable[[Any], Any], x: Any, D: Any, u: Any) -> bool:
    """Whether second-order terms are small by differences, which are cheaper than derivatives."""
    y, total = f(x), 0.0
    with np.errstate(all="ignore"):
        for d in _PART * D.T:
            try:
                total = total + ((f(x + d) - y) + (f(x - d) - y)) ** 2
            except Exception:  # it is not defined there
                return False
        term = np.sqrt(total / D.shape[1]) / (2 * _PART**2)
        return bool(np.all(term <= _STRONG / 2 * u))  # NaN is not


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
        for j, d in enumerate(_STEP * D.T):
            # a distance has the slope of one side, and a side may be beyond the kink
            sides = [x + d] if j else [x + d, x - d]
            runs = [[gap for _, gap in distances(program, [z, *captures])] for z in sides]
            for k, (gap, *moved) in enumerate(zip(here, *runs, strict=False)):
                if all(m.shape == gap.shape for m in moved):
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


def _does_harm(g: Any, x: Any, D: Any, expansion: tuple[Any, Any, Any], u: Any) -> bool:
    """Whether a function leaves its expansion two deviations away, as not beside all kinks."""
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
        program, captures = trace_with_decisions(g, x)
    met = [kink for kink, _ in distances(program, [x, *captures])]
    told: dict[tuple[Any, str], tuple[float, str]] = {}
    for k, distance in close.items():
        inner, eq, convention = met[k]
        place, word = origin_of(inner, eq.results[0]).place, phrase(inner, eq)
        known = told.get((place, word), (np.inf, ""))
        told[place, word] = min(known, (distance, convention))
    for (place, word), (distance, convention) in told.items():
        where = f"{word} at {place}" if place else word
        yield (
            f"fd.propagate: {where} has a kink {distance:.2g} standard deviations away "
            f"({convention}), which linearization does not see. Compare with samples=, or give "
            "check=False."
        ) if convention else _HIDDEN.format(f"within {where}")  # fmt: skip
