"""`density`: a log-density of a container of parameters as one of an unconstrained vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from itertools import accumulate, pairwise
from textwrap import shorten
from typing import Any, Final

import numpy as np

from funcdiff import pytree
from funcdiff.api.batching import vmap
from funcdiff.api.calls.arguments import lists_are_containers
from funcdiff.api.coordinates import refuse_traced
from funcdiff.api.derivatives.gradient import value_and_grad
from funcdiff.api.derivatives.hessian import hessian
from funcdiff.api.jit import Engine, JittedFunction, check_engine, jit
from funcdiff.core.late import close_matches, computed, late_import, require
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.densities import constrained
from funcdiff.densities.diagnostics import warn
from funcdiff.densities.laplace import Approximation, approximate
from funcdiff.densities.nuts import Draws, draw_chains
from funcdiff.errors import InputError, OutputError, user_location
from funcdiff.pytree.structure import Structure, keys_of, leaves_of

_NAMED: Final[dict[str, tuple[int, Callable[[Any], constrained.Constraint]]]] = {
    "cholesky": (2, constrained.Cholesky),
    "correlation_cholesky": (2, constrained.CorrelationCholesky),
    "ordered": (1, constrained.Ordered),
    "simplex": (1, constrained.Simplex),
}
"""For each name of a constraint, the number of axes that it needs and the constraint."""


@public
def density(
    logp: Callable[[Any], Any], params0: Any, bounds: Any = None, *, engine: Engine | None = None
) -> Density:
    """Return a log-density on the unconstrained vectors that stand for constrained parameters.

    With ``x = c(z)`` the result is ``logp(x) + log |det dc/dz|``, the log-density of ``z`` if
    `logp` is the one of ``x``, up to a constant. Its gradient is compiled, can be pickled if `logp`
    can, and may be called by several threads.

    Parameters
    ----------
    logp
        Function of one container that returns a real scalar, and ``-np.inf`` outside of its
        support, also by ``return`` in a branch. Where NumPy finds a matrix singular or not positive
        definite, that counts as ``-np.inf``.
    params0
        Container of real numbers and arrays that satisfies `bounds`: where samplers start.
    bounds
        For leaves of `params0`, in a mapping with its keys (nested as `params0` is; leaves left
        out are not bounded), or one for all of them: a pair ``(low, high)`` of numbers, None or
        infinite where there is none; "ordered" and "simplex" for vectors, "cholesky" for the lower
        triangular factor of a covariance, "correlation_cholesky" for that of a correlation. The
        densities of the last three are those of all elements but the last, of the lower triangle,
        and of what is below the diagonal.
    engine
        As for `jit`. By default, `value` and `value_and_grad` are machine code if that pays for
        50,000 calls, as samplers make: it is several times as fast where operations are short.

    Returns
    -------
    Density
        The log-density of vectors ``(n,)`` of float64, with its gradient, maps to and from the
        container, a sampler, and what other packages take.

    Raises
    ------
    InputError
        If a leaf is not real, no leaf has the key of a bound, a bound is unknown or does not fit
        the shape of its leaf, or `params0` does not satisfy it; if the engine is not installed.
    OutputError
        If `logp` of `params0` is not a real scalar.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> d = fd.density(lambda p: -p["tau"], {"tau": 1.0}, bounds={"tau": (0, None)})
    >>> value, gradient = d.value_and_grad(np.array([0.0]))
    >>> value, gradient
    (np.float64(-1.0), array([0.]))
    >>> float(d.constrain(np.array([0.0]))["tau"])
    1.0
    """
    refuse_traced(params0, "density: params0", "numbers that vary go into what logp closes over.")
    leaves, structure = pytree.flatten(params0)
    names = [tuple(map(_word, keys)) for keys in keys_of(structure)]
    given, constraints = _by_path(bounds), []
    _refuse_unused(given, names)
    for leaf, name, path in zip(leaves, names, pytree.paths(structure), strict=True):
        x = np.asarray(leaf)
        if x.dtype.kind not in "fiu" or (x.dtype.kind in "iu" and isinstance(leaf, np.ndarray)):
            raise InputError(
                f"density: params0{path} is of dtype {x.dtype}, at {user_location()}: parameters "
                "are real. Make it a float, or keep it out of the container."
            )
        bound = next((b for key, b in given.items() if name[: len(key)] == key), None)
        constraints.append(_constraint(bound, x.shape, path))
    unconstrained = _Unconstrained(logp, structure, tuple(constraints))
    check_engine(engine)
    found = Density(unconstrained, unconstrained.vector(params0), engine)
    with np.errstate(all="ignore"), lists_are_containers(params0, "params0"):
        value = logp(unconstrained.parts(found.start)[0])
    dtype = value.dtype if isinstance(value, Tracer) else np.asarray(value).dtype
    if np.shape(value) != () or dtype.kind not in "fiu":
        raise OutputError(
            f"density: logp returned an array of shape {np.shape(value)} and dtype {dtype}, at "
            f"{user_location()}. Return a real scalar: np.sum(terms)."
        )
    return found


def _by_path(bounds: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Return nested bounds by all of their keys; a bound holds for all leaves below it."""
    if not isinstance(bounds, Mapping):
        return {path: bounds}
    parts = [_by_path(bound, (*path, key)) for key, bound in bounds.items()]
    return {key: bound for part in parts for key, bound in part.items()}


def _refuse_unused(given: Mapping[Any, Any], names: list[tuple[Any, ...]]) -> None:
    for path in given:
        for k, key in enumerate(path):
            siblings = {name[k] for name in names if name[:k] == path[:k] and len(name) > k}
            if key not in siblings:
                known = sorted(map(str, siblings))
                near = close_matches(str(key), known) or known or ["a bound of the leaf itself"]
                raise InputError(
                    f"density: no leaf of params0 has the key {key!r} of bounds, at "
                    f"{user_location()}. Write one of: {', '.join(near)}."
                )


def _constraint(bound: Any, shape: tuple[int, ...], path: str) -> constrained.Constraint:
    """Return the constraint that a bound means for a leaf."""
    if bound is None:
        return constrained.Unbounded(shape)
    if isinstance(bound, str) and bound in _NAMED:
        axes, constraint = _NAMED[bound]
        if len(shape) != axes or 0 in shape or len(set(shape)) > 1:
            what = "vectors" if axes == 1 else "square matrices"
            raise InputError(
                f"density: the bound {bound!r} is for {what}, and params0{path} has the "
                f"shape {shape}, at {user_location()}. Bound each as a leaf of its own."
            )
        return constraint(shape)
    if isinstance(bound, tuple) and len(bound) == 2:
        low = -np.inf if bound[0] is None else bound[0]
        high = np.inf if bound[1] is None else bound[1]
        if all(isinstance(end, (int, float, np.number)) for end in (low, high)) and low < high:
            if low == -np.inf and high == np.inf:
                return constrained.Unbounded(shape)
            if low == -np.inf:
                return constrained.Above(shape, float(high), -1.0)
            if high == np.inf:
                return constrained.Above(shape, float(low))
            return constrained.Between(shape, float(low), float(high))
    raise InputError(
        f"density: {bound!r} is no bound for params0{path}, at {user_location()}. Write a pair "
        f"(low, high) of increasing numbers or None, or one of: {', '.join(map(repr, _NAMED))}."
    )


@dataclass(frozen=True)
class _Unconstrained:
    """The log-density of a vector: a function of the vector that can be pickled."""

    logp: Callable[[Any], Any]
    structure: Structure
    constraints: tuple[constrained.Constraint, ...]

    def parts(self, z: Any) -> tuple[Any, Any]:
        """Return the container of constrained parameters, and the log-Jacobian of all of them."""
        ends = [0, *accumulate(c.size for c in self.constraints)]
        shape = getattr(z, "shape", f"a {type(z).__name__}")
        if shape != (ends[-1],):
            raise InputError(
                f"density: a vector of shape ({ends[-1]},) is wanted, got {shape}, at "
                f"{user_location()}. Give one unconstrained vector, an array; many go to "
                "constrain_all, and d.unconstrain(params) is the vector of a container."
            )
        pieces = zip(self.constraints, pairwise(ends), strict=True)
        pairs = [c.constrain(z[start:end]) for c, (start, end) in pieces]
        leaves = [x for x, _ in pairs]
        return pytree.unflatten(self.structure, leaves), sum((j for _, j in pairs), 0.0)

    def vector(self, params: Any) -> Any:
        """Return the vector of a container."""
        leaves = leaves_of(self.structure, params, "density: params", "params0")
        parts: list[Any] = [np.zeros(0)]
        triples = zip(self.constraints, leaves, pytree.paths(self.structure), strict=True)
        for constraint, leaf, path in triples:
            x = np.asarray(leaf, dtype=float)
            with np.errstate(all="ignore"):
                parts.append(constraint.unconstrain(x) if x.shape == constraint.shape else [np.nan])
                fits = np.all(np.isfinite(parts[-1])) and np.allclose(
                    constraint.constrain(parts[-1])[0], x, rtol=1e-5, atol=1e-8
                )
            if not fits:
                raise InputError(
                    f"density: params{path} does not satisfy its bound, or is on it, at "
                    f"{user_location()}: it is {shorten(repr(x), 60)}. Give an array of shape "
                    f"{constraint.shape} that is inside."
                )
        return np.concatenate(parts)

    def __call__(self, z: Any) -> Any:
        """Return the log-density of a vector."""
        params, log_jacobian = self.parts(z)
        return self.logp(params) + log_jacobian


@public
@dataclass(frozen=True, eq=False)
class Density:
    """A log-density of unconstrained vectors; `density` makes it.

    Attributes
    ----------
    start
        Array of shape ``(n,)``: the vector of the parameters that `density` was given.
    engine
        What computes: ``"numpy"`` or ``"llvm"``; None if `jit` chooses.
    """

    _function: _Unconstrained
    start: Any
    engine: Engine | None = None

    def __repr__(self) -> str:
        return f"<Density of parameters {pytree.map(np.shape, self.constrain(self.start))}>"

    @property
    def size(self) -> int:
        """Return the number of unconstrained parameters."""
        return len(self.start)

    def _of_samplers(self, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Compile for as many calls as make four chains of 2,000 trees with some seven steps."""
        return JittedFunction(f, (), (), self.engine, guards=True, calls=50_000)

    @computed
    def value_and_grad(self) -> Callable[[Any], tuple[Any, Any]]:
        """Return the compiled function from ``z`` to the log-density and its gradient ``(n,)``."""
        f = self._of_samplers(value_and_grad(self._function))
        return _Compiled(f, (-np.inf, np.zeros(self.size)))

    @computed
    def value(self) -> Callable[[Any], Any]:
        """Return the compiled function from ``z`` to the log-density."""
        return _Compiled(self._of_samplers(self._function), -np.inf)

    @computed
    def hessian(self) -> Callable[[Any], Any]:
        """Return the compiled function from ``z`` to the second derivatives ``(n, n)``."""
        f = jit(hessian(self._function), engine=self.engine)
        return _Compiled(f, np.full((self.size,) * 2, np.nan))

    def constrain(self, z: Any) -> Any:
        """Return the container of parameters that a vector ``(n,)`` stands for."""
        return self._function.parts(z)[0]

    def unconstrain(self, params: Any) -> Any:
        """Return the vector ``(n,)`` of a container that satisfies the bounds."""
        return self._function.vector(params)

    def laplace(self, start: Any = None) -> Approximation:
        """Return the normal approximation at the mode of the unconstrained log-density.

        Parameters
        ----------
        start
            Vector ``(n,)`` to climb from; by default, that of the parameters given at first.

        Raises
        ------
        ConvergenceError
            If no maximum is found at which the Hessian is negative definite.

        Examples
        --------
        >>> import numpy as np
        >>> import funcdiff as fd
        >>> fit = fd.density(lambda x: -np.sum((x - 1) ** 2) / 2, np.zeros(2)).laplace()
        >>> fit.mode, round(float(fit.log_evidence - np.log(2 * np.pi)), 12)
        (array([1., 1.]), 0.0)
        """
        z = self.start if start is None else start
        self._function.parts(z)  # which refuses what is no vector of theirs
        z = np.asarray(z, dtype=float)
        vector, *rest = approximate(self.value_and_grad, self.hessian, z)
        return Approximation(self.constrain(vector), vector, *rest)

    def sample(
        self,
        draws: int = 1000,
        *,
        rng: int | np.random.Generator,
        warmup: int = 1000,
        chains: int = 4,
        target: float = 0.8,
        progress: Callable[[int, int], None] | None = None,
    ) -> Draws:
        """Draw from the density by the No-U-Turn sampler with a diagonal metric.

        A sampler for reference: its code can be read, and equal seeds give equal draws. For large
        models and many chains use nutpie or the like.

        Parameters
        ----------
        draws, warmup
            How many draws of each chain are kept, and how many come before, for adaptation.
        rng
            Generator, or its seed; each chain has one of its own that is spawned from it.
        chains
            How many chains are drawn, one after the other, from near `start`.
        target
            Mean acceptance that the step size is adapted to.
        progress
            Function that is called after each transition with their number, and that of all.

        Returns
        -------
        Draws
            Parameters and vectors, with axes ``(chains, draws)`` in front. A `SamplingWarning`
            comes if some diverge, or chains have not met.
        """
        counts = draws, warmup, chains
        seen = draw_chains(self.value_and_grad, self.start, rng, counts, target, progress)
        found = Draws(self.constrain_all(seen["vectors"]), **seen)
        warn(found.diverging, found.rhat)
        return found

    def constrain_all(self, vectors: Any) -> Any:
        """Return the container of parameters with the axes of `vectors` but the last in front."""
        *shape, n = np.shape(vectors)
        params = vmap(self.constrain)(np.reshape(vectors, (int(np.prod(shape)), n)))
        return pytree.map(lambda x: np.reshape(x, (*shape, *x.shape[1:])), params)

    def pointwise(self, log_likelihood: Callable[[Any], Any], draws: Draws) -> Any:
        """Return log-likelihoods ``(chains, draws, m)``, for cross-validation.

        `log_likelihood` takes the container of parameters and returns those of ``m`` observations.

        Parameters
        ----------
        log_likelihood
            Function of the parameters, compiled as by `jit`.
        draws
            What `sample` returned.
        """
        compiled = jit(log_likelihood, engine=self.engine)
        return np.array([[compiled(self.constrain(z)) for z in c] for c in draws.vectors])

    def emcee(self) -> dict[str, Any]:
        """Return keyword arguments for emcee: ``EnsembleSampler(walkers, **d.emcee())``."""
        return {"ndim": self.size, "log_prob_fn": self.value}

    def pymc_potential(self) -> Callable[[Any], Any]:
        """Return the log-density as a function of a vector ``(n,)`` of PyTensor, with gradients.

        In a model of PyMC: ``z = pm.Flat("z", shape=d.size)`` and
        ``pm.Potential("density", d.pymc_potential()(z))``. Where NumPy finds a matrix singular it
        is ``-np.inf``, as `value` is.

        Raises
        ------
        MissingDependencyError
            If PyTensor is not installed.
        """
        wrap: Callable[..., Callable[[Any], Any]] = late_import("funcdiff.interop.pytensor").wrap
        return wrap(self._function, result=lambda _: np.zeros(()), singular=-np.inf)

    def mici(self) -> dict[str, Callable[[Any], Any]]:
        """Return the keyword arguments of Mici's systems: ``EuclideanMetricSystem(**d.mici())``."""
        return {"neg_log_dens": self._negative_value, "grad_neg_log_dens": self._negative_gradient}

    @public
    def _negative_value(self, z: Any) -> Any:
        return -self.value(z)

    @public
    def _negative_gradient(self, z: Any) -> tuple[Any, Any]:
        value, gradient = self.value_and_grad(z)
        return -gradient, -value

    def nutpie(self) -> Any:
        """Return a model for ``nutpie.sample``, which starts near `start`.

        Raises
        ------
        MissingDependencyError
            If nutpie is not installed.
        """
        params = self.constrain(self.start)
        names, leaves = _names(params), [np.asarray(x) for x in pytree.flatten(params)[0]]

        def expand(z: Any) -> dict[str, Any]:
            found = pytree.flatten(self.constrain(np.array(z)))[0]
            return dict(zip(names, map(np.asarray, found), strict=True))

        return require(
            "nutpie", "density.nutpie needs nutpie", "nutpie"
        ).compiled_pyfunc.from_pyfunc(
            self.size,
            lambda: self.value_and_grad,
            lambda *_: expand,
            [x.dtype for x in leaves],
            [x.shape for x in leaves],
            names,
            make_initial_point_fn=lambda seed: (
                self.start + np.random.default_rng(seed).uniform(-1, 1, self.size)
            ),
        )

    def arviz(self, draws: Draws) -> Any:
        """Return draws as ArviZ's data, the parameters by their paths.

        Raises
        ------
        MissingDependencyError
            If ArviZ is not installed.
        """
        arviz = require("arviz", "d.arviz needs ArviZ", "arviz")
        names, leaves = _names(draws.params), pytree.flatten(draws.params)[0]
        stats = {"lp": draws.logp, "diverging": draws.diverging, "n_steps": draws.steps}
        groups = {"posterior": dict(zip(names, leaves, strict=True)), "sample_stats": stats}
        named = "posterior" in signature(arviz.from_dict).parameters  # before ArviZ 1.0
        return arviz.from_dict(**groups) if named else arviz.from_dict(groups)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is compiled: it is compiled again when it is asked for."""
        return {"_function": self._function, "start": self.start, "engine": self.engine}


def _names(params: Any) -> list[str]:
    """Return the names of leaves in the data of other packages: their keys, with points between."""
    structure = pytree.flatten(params)[1]
    found = [".".join(str(_word(key)) for key in keys) or "x" for keys in keys_of(structure)]
    return found if len(set(found)) == len(found) else pytree.paths(structure)


def _word(key: Any) -> Any:
    """Return what bounds call the child of a container that has this key."""
    key = key[0] if isinstance(key, tuple) else key
    return key.removeprefix(".") if isinstance(key, str) else key


@dataclass(frozen=True)
class _Compiled:
    """A compiled function of vectors, and its result where NumPy cannot factorize a matrix.

    A compiled program has no place for the user's ``except``, and covariances far out are singular.
    Errors of shapes are raised by `density`, which calls the function once.
    """

    function: Callable[[Any], Any]
    singular: Any

    def __call__(self, z: Any) -> Any:
        """Return the result for an array, a traced one, or a list of numbers."""
        is_plain = isinstance(z, list | tuple | np.ndarray) and not isinstance(z, Tracer)
        try:
            return self.function(np.asarray(z, dtype=float) if is_plain else z)
        except np.linalg.LinAlgError:
            return deepcopy(self.singular)
