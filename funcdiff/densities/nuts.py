"""The No-U-Turn sampler with multinomial draws, dual averaging and a diagonal metric.

Hoffman and Gelman, The No-U-Turn sampler, JMLR 15, 2014; Betancourt, A conceptual introduction to
Hamiltonian Monte Carlo, 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import exp, inf, log, log1p, sqrt
from typing import Any, NamedTuple

import numpy as np

from funcdiff import pytree
from funcdiff.api.calls.arguments import is_int
from funcdiff.api.coordinates import is_fraction
from funcdiff.core.late import computed
from funcdiff.densities.diagnostics import bulk_ess, of_each, rhat, tail_ess
from funcdiff.errors import InputError, user_location

ValueAndGrad = Callable[[Any], tuple[Any, Any]]
_MAX_DEPTH = 10
_DIVERGENT = 1000.0  # an error of the energy that no good step size makes


@dataclass(frozen=True)
class Draws:
    """What a sampler has drawn.

    Attributes
    ----------
    params
        Container of parameters, each with axes ``(chains, draws)`` in front.
    vectors
        Array of shape ``(chains, draws, n)``: the unconstrained vectors.
    logp, steps, diverging
        Arrays of shape ``(chains, draws)``: log-densities of vectors, gradients taken, and where
        the energy was lost: draws near such places are not to be trusted.
    rhat, bulk_ess, tail_ess
        Containers as `params`, without the axes of chains and draws: rank-normalized split R-hat,
        which is 1 where chains agree, and effective numbers of draws in the middle and the tails,
        nan for fewer than ten draws of each chain.

    References
    ----------
    Vehtari et al., Rank-normalization, folding, and localization: an improved R-hat for assessing
    convergence of MCMC, Bayesian Analysis 16, 2021.
    """

    params: Any
    vectors: Any
    logp: Any
    steps: Any
    diverging: Any

    def __repr__(self) -> str:
        return f"<Draws of parameters {pytree.map(np.shape, self.params)}>"

    @computed
    def rhat(self) -> Any:
        """Return R-hat of each element."""
        return of_each(rhat, self.params)

    @computed
    def bulk_ess(self) -> Any:
        """Return the effective number of draws in the middle of each element."""
        return of_each(bulk_ess, self.params)

    @computed
    def tail_ess(self) -> Any:
        """Return the effective number of draws in the tails of each element."""
        return of_each(tail_ess, self.params)


class _Point(NamedTuple):
    """A place of a trajectory, with its momentum in units in which the metric is the identity."""

    z: Any
    momentum: Any
    logp: float
    gradient: Any

    @property
    def log_weight(self) -> float:
        """Return minus the energy."""
        return self.logp - 0.5 * float(self.momentum.dot(self.momentum))


class _Tree(NamedTuple):
    """A part of a trajectory: momenta at its ends and their sum, its weight, a draw from it."""

    first: Any  # in the order in which the points were computed
    last: Any
    sum: Any
    log_weight: float
    draw: _Point


def _leap(function: ValueAndGrad, point: _Point, step: Any, half: Any) -> _Point:
    """Take one step of the leapfrog integrator; `half` is half of `step`."""
    momentum = point.momentum + half * point.gradient
    z = point.z + step * momentum
    logp, gradient = function(z)
    return _Point(z, momentum + half * gradient, float(logp), gradient)


def _turns(old: _Tree, new: _Tree) -> bool:
    """Return whether the ends of both trees in a row, or of parts of them, come closer again."""
    whole = old.sum + new.sum
    if not (old.first.dot(whole) > 0 and new.last.dot(whole) > 0):
        return True
    if old.first is old.last:  # two points: the parts below are the whole
        return False
    # each tree with the next point of the other, where turns of half a period would be missed
    left, right = old.sum + new.first, new.sum + old.last
    return not (
        old.first.dot(left) > 0
        and new.first.dot(left) > 0
        and old.last.dot(right) > 0
        and new.last.dot(right) > 0
    )


@dataclass
class _Transition:
    """One trajectory from a point, at a step size and a diagonal metric.

    The metric is in `step`, the step size times the standard deviations, so that it takes part in
    no other computation.
    """

    function: ValueAndGrad
    rng: np.random.Generator
    step: Any
    log_weight: float = 0.0  # of the first point
    steps: int = 0
    acceptance: float = 0.0
    diverging: bool = False

    def join(self, old: _Tree, new: _Tree, *, biased: bool) -> _Tree:
        """Return trees in a row as one; its draw is the new one's by its weight."""
        low, high = sorted((old.log_weight, new.log_weight))
        total = high + log1p(exp(low - high))
        log_chance = new.log_weight - (old.log_weight if biased else total)
        taken = log_chance >= 0 or self.rng.random() < exp(log_chance)
        draw = new.draw if taken else old.draw
        return _Tree(old.first, new.last, old.sum + new.sum, total, draw)

    def extend(self, point: _Point, sign: int, depth: int) -> tuple[_Tree | None, _Point]:
        """Return the tree of the ``2 ** depth`` points behind one, and the last; None if it turns.

        Trees of equal depth are joined as soon as there are two, as digits are carried in counting.
        """
        step = sign * self.step
        half, waiting = 0.5 * step, list[_Tree]()
        for count in range(1, 2**depth + 1):
            point = _leap(self.function, point, step, half)
            log_weight = point.log_weight - self.log_weight
            self.steps += 1
            if not -_DIVERGENT < log_weight < inf:
                self.diverging = True
                return None, point
            self.acceptance += exp(min(log_weight, 0.0))
            p = point.momentum
            tree = _Tree(p, p, p, log_weight, point)
            while count % 2 == 0:
                count //= 2
                if _turns(old := waiting.pop(), tree):
                    return None, point
                tree = self.join(old, tree, biased=False)
            waiting.append(tree)
        return waiting.pop(), point

    def run(self, start: _Point) -> _Point:
        """Return the next draw."""
        start = start._replace(momentum=self.rng.normal(size=len(start.z)))
        self.log_weight, p = start.log_weight, start.momentum
        tree, ends, last = _Tree(p, p, p, 0.0, start), {1: start, -1: start}, 1
        for depth in range(_MAX_DEPTH):
            sign = 1 if self.rng.random() < 0.5 else -1
            if sign != last:
                tree, last = tree._replace(first=tree.last, last=tree.first), sign
            new, ends[sign] = self.extend(ends[sign], sign, depth)
            if new is None:
                break
            turns = _turns(tree, new)
            tree = self.join(tree, new, biased=True)
            if turns:
                break
        return tree.draw


@dataclass
class _StepSize:
    """Dual averaging of the logarithm of the step size (Hoffman and Gelman, algorithm 6)."""

    target: float
    size: float
    center: float = field(init=False)
    count: int = 0
    error: float = 0.0
    log_mean: float = 0.0

    def __post_init__(self) -> None:
        self.center = log(10 * self.size)

    def learn(self, acceptance: float) -> None:
        """Change the step size by what was accepted."""
        self.count += 1
        share = 1 / (self.count + 10)
        self.error += share * (self.target - acceptance - self.error)
        log_size = self.center - sqrt(self.count) / 0.05 * self.error
        self.log_mean += self.count**-0.75 * (log_size - self.log_mean)
        self.size = exp(log_size)


def _windows(warmup: int) -> list[int]:
    """Return where windows of the warm-up begin and end at which the metric is learnt.

    They double in length. Before them a chain finds the density, behind them only the step size is
    learnt; as in Stan's reference manual.
    """
    ends, last, width = [min(75, warmup // 7)], warmup - min(50, warmup // 4), min(25, warmup // 10)
    while ends[-1] < last:
        fits = ends[-1] + 3 * width < last  # or the next would not: then this takes the rest
        ends.append(ends[-1] + width if fits else last)
        width *= 2
    return ends


def _first_size(function: ValueAndGrad, rng: np.random.Generator, start: _Point, s: Any) -> float:
    """Return a step size at which a step is accepted about half of the times (algorithm 4)."""
    start = start._replace(momentum=rng.normal(size=len(s)))
    least, size, grow = start.log_weight - log(2), 1.0, None
    for _ in range(50):
        accepted = _leap(function, start, size * s, 0.5 * size * s).log_weight > least
        if accepted != (grow := accepted if grow is None else grow):
            break
        size *= 2.0 if grow else 0.5
    return size


def draw_chains(
    function: ValueAndGrad,
    z: Any,
    rng: int | np.random.Generator,
    numbers: tuple[int, int, int],
    target: float,
    progress: Callable[[int, int], None] | None,
) -> dict[str, Any]:
    """Draw chains one after the other, as fields of `Draws`."""
    draws, warmup, chains = numbers
    counts = all(map(is_int, numbers)) and draws >= 1 and chains >= 1 and warmup >= 20
    if not counts or not is_fraction(target):
        raise InputError(
            f"sample: draws={draws}, warmup={warmup}, chains={chains} and target={target} do not "
            f"make a sampler, at {user_location()}. Give at least one draw and chain, 20 "
            "transitions for warm-up, and a target between 0 and 1."
        )
    try:
        generators = np.random.default_rng(rng).spawn(chains)
    except TypeError as error:  # of seeds that are none, and of old generators
        raise InputError(
            f"sample: rng={rng!r} cannot be the source of generators for chains ({error}), at "
            f"{user_location()}. Give a seed, or np.random.default_rng(seed)."
        ) from None
    found = []
    with np.errstate(all="ignore"):  # steps that go too far are told by `Draws.diverging`
        for number, own in enumerate(generators):
            rows = []
            for done, row in enumerate(_chain(function, z, own, (draws, warmup), target), 1):
                rows.append(row)
                if progress is not None:
                    progress(number * (draws + warmup) + done, chains * (draws + warmup))
            found.append(zip(*rows[warmup:], strict=True))
    names = ("vectors", "logp", "steps", "diverging")
    return dict(zip(names, map(np.array, zip(*found, strict=True)), strict=True))


def _start(function: ValueAndGrad, z: Any, rng: np.random.Generator) -> _Point:
    """Return a point near a vector at which the density is positive."""
    for radius in (*np.repeat([1.0, 0.1, 0.01], 10), 0.0):
        at = z + radius * rng.uniform(-1, 1, size=len(z))
        logp, gradient = function(at)
        if np.isfinite(logp) and np.all(np.isfinite(gradient)):
            return _Point(at, np.zeros(len(z)), float(logp), gradient)
    raise InputError(
        f"sample: the log-density or its gradient at the first parameters is not finite, at "
        f"{user_location()}. Start where the density is positive."
    )


def _chain(
    function: ValueAndGrad, z: Any, rng: np.random.Generator, counts: tuple[int, int], target: float
) -> Iterator[tuple[Any, float, int, bool]]:
    """Yield what each transition gives; learn step size and metric in those of the warm-up."""
    draws, warmup = counts
    point, deviations = _start(function, z, rng), np.ones(len(z))
    step = _StepSize(target, _first_size(function, rng, point, deviations))
    ends, window = _windows(warmup), []
    for i in range(warmup + draws):
        if i == warmup:
            step.size = exp(step.log_mean)
        move = _Transition(function, rng, step.size * deviations)
        point = move.run(point)
        if i < warmup:
            step.learn(move.acceptance / move.steps)
            if ends[0] <= i < ends[-1]:
                window.append(point.z)
            if i + 1 in ends[1:]:
                n = len(window)  # shrunk towards a small variance, as Stan does
                deviations = np.sqrt((n * np.var(window, axis=0, ddof=1) + 5e-3) / (n + 5))
                step = _StepSize(target, _first_size(function, rng, point, deviations))
                window = []
        yield point.z, point.logp, move.steps, move.diverging
