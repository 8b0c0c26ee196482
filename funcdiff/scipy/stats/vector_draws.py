"""Random vectors and matrices as functions of the parameters, at the same random numbers.

SciPy's own code draws them from a generator that answers traced parameters, too.  A normal vector
moves with the Cholesky factor L of its covariance, x = μ + L·(L₀⁻¹x₀), whatever factor NumPy drew
it with; gamma variates, of which others are made, move as those of `draws`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from funcdiff.core.builder import current_builder
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.ops.linalg.systems import triangular_solve
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy.conditions import forgiveness, is_known_to_hold
from funcdiff.scipy.covered import holds_traced, load
from funcdiff.scipy.stats.draws import draw
from funcdiff.scipy.stats.leaves import distribution


class Variates:
    """A generator of random numbers whose distributions may have traced parameters."""

    def __init__(self, seed: Any) -> None:
        self._plain = load("scipy._lib._util").check_random_state(seed)
        self._is_ours = isinstance(seed, int | np.integer)
        self._is_known = True

    @property
    def plain(self) -> Any:
        """The generator, unless it would have gone on by what is not known."""
        if self._is_known:
            return self._plain
        raise ConcreteValueError(
            "random vectors and matrices are drawn number by number, each from where the generator "
            "stands after the one before, which is not known inside vmap, cond, scan and jit, at "
            f"{user_location()}. Draw them one after the other, in a Python loop outside of these; "
            "a Dirichlet distribution needs but a number as random_state."
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None) -> Any:
        """Draw normal vectors: as NumPy does by singular values, which are constants."""
        normal: Any = self.plain.standard_normal((*_lengths(size), np.shape(mean)[-1]))
        fixed: Any = stop_gradient(array(cov))
        u, s, vh = np.linalg.svd(fixed)
        legacy = isinstance(self.plain, np.random.RandomState)
        root: Any = np.sqrt(s)[:, None] * (vh if legacy else u.T)
        drawn: Any = normal @ root
        columns: Any = np.reshape(drawn, (-1, drawn.shape[-1])).T
        white: Any = triangular_solve(array(np.linalg.cholesky(fixed)), array(columns), lower=True)
        moved: Any = np.linalg.cholesky(array(cov)) @ white
        return mean + np.reshape(moved.T, drawn.shape)

    def chisquare(self, df: Any, size: Any = None) -> Any:
        """Draw from χ²."""
        given = None if size is None else _lengths(size)
        return self._drawn("chi2", df, given)

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        """Draw shares: gamma variates by their sum."""
        sticks = isinstance(self.plain, np.random.Generator)
        if sticks and is_known_to_hold(lambda: np.max(alpha) < 0.1):
            raise NotDifferentiableError(
                "scipy.stats.dirichlet.rvs draws in another way where all of alpha are below 0.1, "
                f"at {user_location()}. Give a number as random_state."
            )
        shape = (*_lengths(size), np.shape(alpha)[-1])
        parts = self._drawn("gamma", alpha, shape)
        return parts / np.sum(parts, axis=-1, keepdims=True)

    def _drawn(self, name: str, parameter: Any, size: Any) -> Any:
        """Draw from a distribution; where values are not known, that is the last draw."""
        plain, forgive = self.plain, forgiveness()
        try:
            return distribution(name).rvs(parameter, size=size, random_state=plain)
        except ConcreteValueError:
            self._is_known = False
            if not self._is_ours:
                return self.plain  # which raises
            forgive()
            return draw(name, [parameter], 0.0, 1.0, size, plain, goes_on=False)


def _lengths(size: Any) -> tuple[int, ...]:
    return () if size is None else tuple(int(n) for n in np.ravel(size))


def check_random_state(seed: Any) -> Any:
    """Return SciPy's generator of a seed, and one of ours as it is."""
    return seed if isinstance(seed, Variates) else load("scipy._lib._util").check_random_state(seed)


def drawing(plain: Callable[..., Any], borrowed: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``rvs`` of SciPy's, which is its borrowed code where a parameter is traced."""
    signature = inspect.signature(plain)

    @wraps(plain)
    def rvs(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        state = given.arguments.get("random_state")
        held = args, kwargs, list(vars(self).values())
        if current_builder() is None or not holds_traced(held):
            if isinstance(state, Variates):
                given.arguments["random_state"] = state.plain
            return plain(*given.args, **given.kwargs)
        if state is None:
            state = getattr(self, "_dist", self)._random_state
        if not isinstance(state, Variates):
            given.arguments["random_state"] = Variates(state)
        return borrowed(*given.args, **given.kwargs)

    return rvs
