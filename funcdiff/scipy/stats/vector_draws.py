"""Random vectors and matrices as functions of the parameters, at the same random numbers.

SciPy's own code draws them from a generator that answers traced parameters, too.  A normal vector
moves with the Cholesky factor L of its covariance, x = μ + L·(L₀⁻¹x₀), whatever factor NumPy drew
it with; gamma variates, of which others are made, move as those of `draws`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import chain
from typing import Any

import numpy as np

from funcdiff.core.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import is_constant, value_of
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.conditions import forgiveness, is_known_to_hold
from funcdiff.scipy.covered import Holder, holds_traced
from funcdiff.scipy.places import place
from funcdiff.scipy.stats.draws import Drawn, draw
from funcdiff.scipy.stats.leaves import distribution


class Variates:
    """A generator of random numbers whose distributions may have traced parameters.

    Each draw begins where the generator stands after the one before.  Where this depends on what is
    not known, one that is made of a number is left where it was, and what is drawn from then on
    draws again what was drawn before it.
    """

    def __init__(self, seed: Any) -> None:
        self._plain = place("scipy._lib._util", "check_random_state")(seed)
        self._before: list[Drawn] = []

    @property
    def plain(self) -> Any:
        """The generator, unless it would have gone on by what is not known."""
        if not self._before:
            return self._plain
        raise ConcreteValueError(
            "this is drawn from where the generator stands after a draw by parameters that are not "
            f"known inside vmap, cond, scan and jit, at {user_location()}. Draw outside of these."
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Draw normal variates."""
        return loc + scale * self.standard_normal(size)

    def standard_normal(self, size: Any = None) -> Any:
        """Draw normal variates of mean 0 and variance 1."""
        if not self._before:
            return self._plain.standard_normal(size)
        return draw("norm", [], 0.0, 1.0, _lengths(size), self._plain, self._before)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None) -> Any:
        """Draw normal vectors: as NumPy does by singular values, which are constants."""
        normal: Any = self.standard_normal((*_lengths(size), np.shape(mean)[-1]))
        fixed: Any = stop_gradient(array(cov))
        u, s, vh = np.linalg.svd(fixed)
        legacy = isinstance(self._plain, np.random.RandomState)
        root: Any = np.sqrt(s)[:, None] * (vh if legacy else u.T)
        drawn: Any = normal @ root
        columns: Any = np.reshape(drawn, (-1, drawn.shape[-1])).T
        white: Any = triangular_solve(array(np.linalg.cholesky(fixed)), array(columns), lower=True)
        moved: Any = np.linalg.cholesky(array(cov)) @ white
        return mean + np.reshape(moved.T, drawn.shape)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Draw from χ²."""
        given = None if size is None else _lengths(size)
        return self._draw("chi2", df, given)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Draw shares: gamma variates by their sum."""
        sticks = isinstance(self._plain, np.random.Generator)
        if sticks and is_known_to_hold(lambda: np.max(alpha) < 0.1):
            raise NotDifferentiableError(
                "scipy.stats.dirichlet.rvs draws in another way where all of alpha are below 0.1, "
                f"at {user_location()}. Give a number as random_state."
            )
        shape = (*_lengths(size), np.shape(alpha)[-1])
        parts = self._draw("gamma", alpha, shape)
        return parts / np.sum(parts, axis=-1, keepdims=True)

    def choice(self, count: int, size: Any = None, p: Any = None) -> Any:
        """Draw whole numbers, which have no derivative by their probabilities."""
        if isinstance(p, Tracer) and not is_constant(p):
            raise NotDifferentiableError(
                f"gaussian_kde.resample was differentiated in the weights at {user_location()}: "
                "which points are drawn jumps with them. Draw from fd.stop_gradient(weights)."
            )
        return self.plain.choice(count, size, p=p)

    def _draw(self, name: str, parameter: Any, size: Any) -> Any:
        """Draw from a distribution with one parameter."""
        forgive = forgiveness()
        try:
            return distribution(name).rvs(parameter, size=size, random_state=self.plain)
        except ConcreteValueError:
            forgive()
            return draw(name, [parameter], 0.0, 1.0, size, self._plain, self._before)


def _lengths(size: Any) -> tuple[int, ...]:
    return () if size is None else tuple(int(n) for n in np.ravel(size))


def check_random_state(seed: Any) -> Any:
    """Return SciPy's generator of a seed, and one of ours as it is."""
    plain = place("scipy._lib._util", "check_random_state")
    return seed if isinstance(seed, Variates) else plain(seed)


def drawing(
    plain: Callable[..., Any], borrowed: Callable[..., Any], seed: str = "random_state"
) -> Callable[..., Any]:
    """Return ``rvs`` of SciPy's, which is its borrowed code where a parameter is traced.

    Its argument for the generator is called `seed`.
    """
    signature = inspect.signature(plain)

    @wraps(plain)
    def rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        state = given.arguments.get(seed)
        held = args, kwargs, list(vars(self).values())
        if current_builder() is None or not holds_traced(held):
            if isinstance(state, Variates):
                given.arguments[seed] = state.plain
            return plain(*given.args, **given.kwargs)
        if state is None:
            state = getattr(getattr(self, "_dist", self), "_random_state", None)
        if not isinstance(state, Variates):
            if not isinstance(state, int | np.integer):
                _check_known(held)
            given.arguments[seed] = Variates(state)
        return borrowed(*given.args, **given.kwargs)

    return rvs


def _check_known(held: Any) -> None:
    """Check that a generator, which moves on by what is drawn, is not shared by several draws."""
    try:
        for x in _tracers_in(held):
            value_of(x)
    except ConcreteValueError as error:
        raise ConcreteValueError(
            "a generator of random numbers moves on with each draw, and how many there will be is "
            f"not known inside vmap, cond, scan and jit, at {user_location()}. Give a number, as "
            "random_state=0, from which every call draws the same, or draw outside of these."
        ) from error


def _tracers_in(value: Any) -> Iterator[Tracer]:
    """Yield the traced arrays in nested arguments and in attributes of objects of ours."""
    if isinstance(value, Tracer):
        yield value
    elif isinstance(value, list | tuple):
        yield from chain.from_iterable(map(_tracers_in, value))
    elif isinstance(value, dict):
        yield from _tracers_in(list(value.values()))
    elif isinstance(value, Holder):
        yield from (x for x in vars(value).values() if isinstance(x, Tracer))
