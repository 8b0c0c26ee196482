"""Derivatives along directions against central differences, and the report of where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from funcdiff.testing.quotients import JITTERS, Accuracy, Mismatch, Neighbourhood, mismatch
from funcdiff.testing.subject import (
    Layout,
    Subject,
    Values,
    bands,
    disagreement,
    magnitudes,
    precision,
    rounding,
    scales,
)

# ---- Looks for the entries in which a linear function differs from another, by halving -----------


_MOST_REPORTED: Final = 5


class Found(NamedTuple):
    """What a search has found."""

    single: list[tuple[int, Mismatch]]  # entries that differ, and how
    # Groups that differ along one direction, but no half of them does.
    together: list[tuple[Any, Mismatch]]
    left: Any  # places, in order, that differ or have not been looked at
    tried: int  # number of directions, each along some of the entries


def search(
    places: Any, whole: Mismatch, fault: Callable[[Any], Mismatch | None], most: int
) -> Found:
    """Find single places at which there is a fault, in as many steps as a number has digits.

    A direction along all of them showed the fault `whole`; one along half of them tells which half
    has it: ``fault(places)`` describes the fault along a direction of these entries alone.  At most
    `most` directions are tried.
    """
    single: list[tuple[int, Mismatch]] = []
    together: list[tuple[Any, Mismatch]] = []
    faulty = [(places, (fault(places) if len(places) == 1 else None) or whole)]
    tried = 0
    while faulty and len(single) + len(together) < _MOST_REPORTED:
        part, found = faulty.pop()
        if len(part) == 1:
            single.append((int(part[0]), found))
            continue
        if tried >= most:
            faulty.append((part, found))
            break
        halves = [(half, fault(half)) for half in np.array_split(part, 2)]
        tried += 2
        wrong = [(half, its) for half, its in halves if its is not None]
        if wrong:
            faulty += wrong[::-1]
        else:
            together.append((part, found))
    left = np.sort(np.concatenate([np.zeros(0, int), *(part for part, _ in faulty)]))
    return Found(single, together, left, tried)


# ---- Recognises functions of symmetric matrices that read one triangle of their argument ---------
#
# ``eigh`` and ``cholesky`` take the other triangle for the mirror image of the one they read, and
# their derivatives, by convention, are those of a function of symmetric matrices: symmetric
# themselves.  Differences agree with these along symmetric directions alone.


def square(xs: Sequence[Any]) -> list[int]:
    """Return which arrays are (stacks of) square matrices of two rows or more."""
    return [
        k for k, x in enumerate(xs) if np.ndim(x) >= 2 and np.shape(x)[-1] == np.shape(x)[-2] >= 2
    ]


def is_symmetric(x: Any) -> bool:
    """Whether matrices equal their conjugate transposes, to rounding."""
    return disagreement(x, mirror(x), rounding([x]), scale=0.0) is None


def mirror(x: Any) -> Any:
    """Return the conjugate transposes of matrices."""
    return np.conj(np.swapaxes(x, -1, -2))


def symmetrize(ts: Sequence[Any], chosen: Sequence[int]) -> Values:
    """Return the symmetric parts of some of the arrays, and the others as they are."""
    return [((t + mirror(t)) / 2).astype(t.dtype) if k in chosen else t for k, t in enumerate(ts)]


def symmetric_arguments(near: Neighbourhood) -> list[int]:
    """Return which arguments are symmetric matrices of which the function reads one triangle."""
    matrices = [k for k in square(near.xs) if is_symmetric(near.xs[k])]
    return [k for k in matrices if _reads_one_triangle(near, k)]


def _reads_one_triangle(near: Neighbourhood, k: int) -> bool:
    """Whether the function of matrices ignores all that is above, or below, their diagonal.

    Gradients by them are symmetric only where these are, so that symmetric parts are compared.
    """
    x = near.xs[k]
    random = np.random.default_rng(0)
    size = float(np.abs(x).max(initial=0.0)) or 1.0
    other = (size * random.uniform(0.5, 2.0, np.shape(x))).astype(x.dtype)
    kept: list[Callable[[Any], Any]] = [np.tril, np.triu]
    for triangle in kept:
        changed = np.where(triangle(np.full(x.shape[-2:], True)), x, other).astype(x.dtype)
        try:
            results = near.call([*near.xs[:k], changed, *near.xs[k + 1 :]])
        except np.linalg.LinAlgError:  # of a matrix that was read
            continue
        if all(map(_agree, results, near.ys)):
            return True
    return False


def _agree(x: Any, y: Any) -> bool:
    if np.shape(x) != np.shape(y):
        return False
    x, y = symmetrize([x, y], square([x, y]))
    return disagreement(x, y, rounding([x]), scale=0.0) is None


Push: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], Values]
"""Of a point and tangents, the tangents of the results."""

Pull: TypeAlias = Callable[[Sequence[Any]], Values]
"""Of a point, the gradients for given weights of the results."""

_GROUPS: Final = 4
"""How many groups of arrays, and of entries of unlike size, are told apart at most."""

_DOUBLE: Final = 1e-12
_FINE_BAND: Final = 1e-5
_COARSE_BAND: Final = 1e-2
"""How much smaller an effect may be to be seen beside another, in double precision or not."""


# ---- comparisons -------------------------------------------------------------------------------


class _Forward:
    """``push(xs, t)``, compared with differences along `t`."""

    def __init__(self, f: Subject, xs: list[Any], push: Push, accuracy: Accuracy) -> None:
        self.near = Neighbourhood(f.call, xs, f.outputs)
        self.inputs = Layout(f.inputs, xs)
        self._push, self._accuracy = push, accuracy
        self.sizes = scales(self.inputs, xs)
        with np.errstate(all="ignore"):
            self.signs = np.where(self.inputs.row(xs) < 0, -1.0, 1.0)

    def effects(self) -> Any:
        """Return how much each number counts when it moves by its size, as far as is known."""
        return self.sizes

    def fault(self, ts: list[Any], size: float, *, thorough: bool) -> Mismatch | None:
        """Return what differs along a direction."""

        def again(k: int) -> list[Any]:
            return self._push(self.near.jitter(k), ts)

        got = self._push(self.near.xs, ts)
        return mismatch(self.near, ts, got, again, self._accuracy, size=size, thorough=thorough)

    def line(self, name: str, found: Mismatch) -> str:
        """Describe what differs along the entry of that name."""
        return f"{found.path}, {found.text}, along {name}"

    def is_symmetric(self, chosen: Sequence[int]) -> bool:
        """Whether what makes these matrices less symmetric has no effect."""
        random = np.random.default_rng(1)
        ts = self.inputs.arrays(self.sizes * magnitudes(self.inputs.size, random))
        even = symmetrize(ts, chosen)
        odd = [t - s for t, s in zip(ts, even, strict=True)]
        pairs = zip(self._push(self.near.xs, odd), self._push(self.near.xs, even), strict=True)
        return all(_is_small(a, b) for a, b in pairs)


class _Reverse:
    """``⟨Jᴴ·v, t⟩``, compared with differences of ``⟨v, f⟩``."""

    def __init__(
        self, f: Subject, xs: list[Any], vs: list[Any], pull: Pull, accuracy: Accuracy
    ) -> None:
        self.inputs = Layout(f.inputs, xs)
        self._pull, self._accuracy = pull, accuracy
        self._gradient = pull(xs)
        self._row = self.inputs.row(self._gradient)
        self.sizes = scales(self.inputs, xs)
        self.signs = np.where(self._row < 0, -1.0, 1.0)
        outputs = Layout(f.outputs, vs)
        weights = outputs.row(vs)

        def weigh(zs: Sequence[Any]) -> list[Any]:
            return [np.dot(weights, outputs.row(f.call(zs)))]

        ys = f.call(xs)
        with np.errstate(all="ignore"):
            terms = sum(
                float(np.sum((precision([y]) * np.abs(v) * np.abs(y)) ** 2))
                for v, y in zip(vs, ys, strict=True)
            )
        noise, coarsest = np.array([np.sqrt(terms)]), precision([*xs, *ys])
        self.near = Neighbourhood(weigh, xs, [""], noise, coarsest)
        self._others: list[Any] = []

    def effects(self) -> Any:
        """Return how much each number counts when it moves by its size."""
        with np.errstate(all="ignore"):
            return np.abs(self._row) * self.sizes

    def fault(self, ts: list[Any], size: float, *, thorough: bool) -> Mismatch | None:
        """Return what differs along a direction."""
        moves = self.inputs.row(ts)

        def along(gradient: Any) -> list[Any]:
            with np.errstate(all="ignore"):
                return [np.dot(gradient[moves != 0], moves[moves != 0])]

        def again(k: int) -> list[Any]:
            if not self._others:
                points = map(self.near.jitter, range(JITTERS))
                self._others = [self.inputs.row(self._pull(xs)) for xs in points]
            return along(self._others[k])

        with np.errstate(all="ignore"):
            terms = float(np.dot(np.abs(self._row), np.abs(moves)))
        blur = math.pow(self.near.precision, 0.75) * terms if math.isfinite(terms) else 0.0
        return mismatch(
            self.near,
            ts,
            along(self._row),
            again,
            self._accuracy,
            blur=blur,
            size=size,
            thorough=thorough,
        )

    def line(self, name: str, found: Mismatch) -> str:
        """Describe what differs along the entry of that name."""
        return f"gradient of {name}, {found.text}"

    def is_symmetric(self, chosen: Sequence[int]) -> bool:
        """Whether the gradients by these matrices are symmetric."""
        return all(is_symmetric(self._gradient[k]) for k in chosen)


def _is_small(odd: Any, even: Any) -> bool:
    size = max(float(np.abs(x).max(initial=0.0)) for x in (odd, even))
    return bool(np.abs(odd).max(initial=0.0) <= rounding([odd, even]) * size)


def check_forward(f: Subject, xs: list[Any], push: Push, accuracy: Accuracy, what: str) -> None:
    """Compare ``push(xs, t)`` with differences along `t`, and look for the entries if they differ.

    `push` takes a point and tangents to the tangents of the results; messages call it `what`.
    """
    f.progress.doing = f"the {what} of {f.name}"
    _check(_Forward(f, xs, push, accuracy), f, what)


def check_reverse(
    f: Subject, xs: list[Any], vs: list[Any], pull: Pull, accuracy: Accuracy, what: str
) -> None:
    """Compare ``⟨Jᴴ·v, t⟩`` with differences of ``⟨v, f⟩``, and look for the entries.

    `pull` takes a point to the gradients ``Jᴴ·v`` for the weights `vs`; messages call it `what`.
    """
    f.progress.doing = f"the {what} of {f.name}"
    for path, x, g in zip(f.inputs, xs, pull(xs), strict=True):
        if np.shape(g) != np.shape(x) or np.asarray(g).dtype != np.asarray(x).dtype:
            raise AssertionError(
                f"the {what} of {f.name} gives {np.asarray(g).dtype}{np.shape(g)} for {path}, "
                f"which is {x.dtype}{np.shape(x)}"
            )
    _check(_Reverse(f, xs, vs, pull, accuracy), f, what)


# ---- directions and entries --------------------------------------------------------------------


def _check(compared: _Forward | _Reverse, f: Subject, what: str) -> None:
    """Try directions along groups of like entries; where one differs, look for the entries."""
    fault = _first_fault(_Probe(compared))
    if fault is None:
        return
    # arguments of which the function may read one triangle, if it is differentiated so
    symmetric = symmetric_arguments(compared.near)
    symmetric = symmetric if compared.is_symmetric(symmetric) else []
    probe = _Probe(compared, symmetric)
    if symmetric:
        fault = _first_fault(probe)
    if fault is not None:
        raise AssertionError(_report(f, probe, fault, what))


class _Fault(NamedTuple):
    """A direction along which a derivative differs, as moves of the numbers, and how."""

    moves: Any
    found: Mismatch


class _Probe:
    """Tries directions, of which symmetric matrices stay symmetric."""

    def __init__(self, compared: _Forward | _Reverse, symmetric: Sequence[int] = ()) -> None:
        self.compared, self._symmetric = compared, symmetric

    def fault(self, moves: Any, *, size: float = 1.0, thorough: bool = True) -> Mismatch | None:
        """Return what differs along a direction that moves numbers by `size` times so much."""
        ts = symmetrize(self.compared.inputs.arrays(moves), self._symmetric)
        return self.compared.fault(ts, size, thorough=thorough)

    def entry(self, k: int) -> Mismatch | None:
        """Return what differs along the k-th number alone."""
        unit = np.zeros(self.compared.inputs.size)
        unit[k] = 1.0
        return self.fault(unit, size=float(self.compared.sizes[k]), thorough=False)


def _first_fault(probe: _Probe) -> _Fault | None:
    for moves in _directions(probe.compared):
        found = probe.fault(moves)
        if found is not None:
            return _Fault(moves, found)
    return None


def _directions(compared: _Forward | _Reverse) -> Iterable[Any]:
    """Yield directions that move all numbers by about their size, those of like effect together.

    What has a small effect is not seen beside what has a large one.  Many effects of random sign
    add up to a sum that is small beside the rounding error of a function in single precision; so
    there, they are also given one sign, where they are known; or numbers that of themselves.
    """
    random = np.random.default_rng(0)
    moves = compared.sizes * magnitudes(compared.inputs.size, random)
    signs = random.choice([-1.0, 1.0], compared.inputs.size)
    coarse = compared.near.precision > _DOUBLE
    for places in _groups(compared, _COARSE_BAND if coarse else _FINE_BAND):
        along = np.zeros_like(moves)
        along[places] = 1.0
        yield moves * signs * along
        if coarse:
            yield moves * compared.signs * along


def _groups(compared: _Forward | _Reverse, band: float) -> Iterable[Any]:
    """Yield the places of some arrays of which the effects are alike."""
    parts, effects = compared.inputs.parts(), compared.effects()
    every = np.arange(compared.inputs.size)
    for k in range(min(_GROUPS, len(parts))):
        places = np.concatenate([every[part] for part in parts[k::_GROUPS]])
        for chosen in bands(effects[places], band, _GROUPS):
            yield places[chosen]


def _report(f: Subject, probe: _Probe, fault: _Fault, what: str) -> str:
    """Describe the first entries that differ; where none does alone, the direction that did."""
    compared = probe.compared
    f.progress.doing = f"looking for the entries in which the {what} of {f.name} is wrong"

    def differs(places: Any) -> Mismatch | None:
        if len(places) == 1:
            return probe.entry(int(places[0]))
        moves = np.zeros_like(fault.moves)
        moves[places] = fault.moves[places]
        return probe.fault(moves, thorough=False)

    found = search(np.flatnonzero(fault.moves), fault.found, differs, f.directions)
    lines = [compared.line(compared.inputs.name(k), text) for k, text in found.single]
    for places, text in found.together:
        count = f"{len(places)} entries together, of {_span(compared.inputs, places)}"
        lines.append(f"{compared.line(count, text)}, along a random direction")
    if len(found.left):
        lines.append(
            f"and more: {found.tried} directions were tried; {len(found.left)} of "
            f"{compared.inputs.size} entries are left, {_span(compared.inputs, found.left)}"
        )
    hint = _hint(compared, fault.moves)
    return "\n  ".join([f"the {what} of {f.name} differs from central differences:", *lines, *hint])


def _span(inputs: Layout, places: Any) -> str:
    first, last = (inputs.name(int(k)) for k in (places[0], places[-1]))
    return f"from {first} to {last}"


def _hint(compared: _Forward | _Reverse, moves: Any) -> list[str]:
    """Say so if the function seems to be one of symmetric matrices."""
    near, cure = compared.near, "check lambda x: f((x + x.T) / 2) instead"
    even = [k for k in square(near.xs) if compared.inputs.size and is_symmetric(near.xs[k])]
    if even and _Probe(compared, even).fault(moves) is None:
        path = compared.inputs.path(even[0])
        return [
            f"along symmetric directions of {path} it agrees, as derivatives of eigh and cholesky "
            f"do, which read one triangle: {cure}"
        ]
    return []
