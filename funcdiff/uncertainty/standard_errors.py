"""Errors of estimates: from the information of a log-likelihood, or of a model with noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from funcdiff.api.calls.transformed import name_after, transform
from funcdiff.api.coordinates import Coordinates, bound_vectors, is_fraction, on_vectors
from funcdiff.api.derivatives.gradient import grad, value_and_grad
from funcdiff.api.derivatives.hessian import hessian
from funcdiff.api.derivatives.jacobian import jacobian
from funcdiff.core.late import scipy_function
from funcdiff.core.tracebacks import public
from funcdiff.core.tracer import Tracer
from funcdiff.errors import ConvergenceError, InputError, UncertaintyWarning, user_location

Kind = Literal["hessian", "opg", "sandwich", "cluster"]

SINGULAR: Final = 1e-12
"""The smallest eigenvalue of an information scaled to a unit diagonal, below which it has none."""


@transform
def standard_errors(loglike: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes standard errors of maximum-likelihood estimates.

    Parameters
    ----------
    loglike
        ``loglike(params, *args)``: the log-likelihood, a real number or an array of shape ``(n,)``
        with that of each observation.

    Returns
    -------
    callable
        ``standard_errors(loglike)(params, *args, kind="hessian", groups=None, lower=None,
        upper=None)`` returns ``(std, cov)``: standard errors like `params`, and the covariance
        by leaf and leaf, as `propagate` takes it for ``cov=``.  With H the Hessian of the sum
        and S the scores, of shape ``(n, parameters)``:

        - ``"hessian"``: ``(-H)⁻¹``;
        - ``"opg"``: ``(SᵀS)⁻¹``, the outer product of gradients;
        - ``"sandwich"``: ``H⁻¹·SᵀS·H⁻¹``, right under heteroskedasticity;
        - ``"cluster"``: the same with scores summed within `groups`, labels of shape ``(n,)``.

        Parameters on a bound count as known: their errors are 0, and a warning names them.
        `lower` and `upper` are a number for all, or containers like `params` with a number, an
        array or None for each leaf.

    Raises
    ------
    InputError
        If the information is singular or not positive definite: the message names the direction in
        the parameters; if observations are needed and `loglike` returns a number; or if parameters
        are outside of their bounds.

    Warns
    -----
    UncertaintyWarning
        If parameters are on their bounds.

    References
    ----------
    White, H. (1982), Maximum likelihood estimation of misspecified models, Econometrica 50.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> y = np.array([1.0, 2.0, 4.0, 5.0])
    >>> loglike = lambda p: -((y - p["mean"]) ** 2) / 2
    >>> std, cov = fd.standard_errors(loglike)({"mean": 3.0})
    >>> std["mean"]
    np.float64(0.5)
    """

    @name_after(loglike, "standard_errors")
    @public
    def errors(
        *args: Any, kind: Kind = "hessian", groups: Any = None, lower: Any = None, upper: Any = None
    ) -> tuple[Any, Any]:
        g, x, at, *_, free = _at_estimate(loglike, args, "standard_errors", (lower, upper))
        _tell(
            ~free, at, "parameters on their bounds count as known, and have no errors",
            "Their likelihood is not quadratic: profile it with fd.confidence_intervals.",
        )  # fmt: skip
        cov = _covariance(g, x, free, at, kind, groups)
        return at.vector(np.sqrt(np.diagonal(cov))), at.matrix(cov)

    return errors


def _at_estimate(loglike: Callable[..., Any], args: Any, name: str, ends: tuple[Any, Any]) -> Any:
    """Return a function of vectors, the estimate, its coordinates and bounds, and what is free."""
    g, x, at = on_vectors(lambda p: loglike(p, *args[1:]), args[:1], name, kinds="f")
    low, high = bound_vectors(ends, args[0])
    cure = "Give parameters within bounds: np.clip(params, lower, upper)."
    at.check_within(x, low, high, ("x", "", cure))
    return g, x, at, low, high, (x > low) & (x < high)


def _tell(flags: Any, at: Coordinates, what: str, cure: str) -> None:
    """Warn of the parameters that are flagged."""
    if np.any(flags):
        names = ", ".join(f"x{at.name(int(k))}" for k in np.flatnonzero(flags))
        warnings.warn(
            f"{what}: {names}, at {user_location()}. {cure}", UncertaintyWarning, stacklevel=5
        )


def _covariance(
    g: Callable[[Any], Any], x: Any, free: Any, at: Coordinates, kind: str, groups: Any
) -> Any:
    if kind not in get_args(Kind):
        raise InputError(
            f"standard_errors: kind={kind!r}, at {user_location()}. Write one of {get_args(Kind)}."
        )
    if kind != "opg":
        bread = inverse_information(-hessian(lambda z: np.sum(g(z)))(x), at, free)
    if kind == "hessian":
        return bread
    S = jacobian(g)(x)
    if len(S) < 2:
        raise InputError(
            f"kind={kind!r} needs the log-likelihood of each observation, but one number was "
            f"returned, at {user_location()}. Return an array of shape (n,), not its sum."
        )
    if kind == "cluster":
        labels, which = np.unique(groups, return_inverse=True)
        if np.shape(groups) != (len(S),) or len(labels) < 2:
            raise InputError(
                f"kind='cluster' needs groups= of shape ({len(S)},), one label per observation, of "
                f"two groups at least, got {np.shape(groups)} and {len(labels)} groups, at "
                f"{user_location()}."
            )
        S = np.equal.outer(np.arange(len(labels)), which) @ S
    if kind == "opg":
        return inverse_information(S.T @ S, at, free)
    return bread @ (S.T @ S) @ bread


def inverse_information(F: Any, at: Coordinates, free: Any) -> Any:
    """Return the inverse of an information, of `free` parameters, with zeros for the others."""
    names, block = [at.name(int(k)) for k in np.flatnonzero(free)], np.ix_(free, free)
    F, inverse = F[block], np.zeros_like(F)
    if not np.all(np.isfinite(F)):
        k = int(np.argmax(~np.all(np.isfinite(F), axis=1)))
        raise InputError(
            f"the information is not finite at x{names[k]}, at {user_location()}. Find where with "
            "fd.explain(fd.grad(loglike))(params)."
        )
    scale = np.sqrt(np.abs(np.diagonal(F)))
    scale = np.where(scale > 0, scale, 1.0)
    w, V = np.linalg.eigh(F / np.outer(scale, scale))
    bad = w <= SINGULAR * max(len(names), 1)
    if np.any(bad):
        kind = "not positive definite" if np.any(w < -SINGULAR * len(names)) else "singular"
        directions = []
        for v in (V[:, bad] / scale[:, None]).T:
            largest = np.argmax(np.abs(v) > 0.999 * np.max(np.abs(v)))  # ties keep their order
            v = np.round(v / v[largest], 3)
            kept = [k for k in np.argsort(-np.abs(v), kind="stable") if v[k]]
            terms = [f"{v[k]:+.3g}·x{names[k]}" for k in kept[:6]]
            directions.append(" ".join(terms) + (" + ..." if len(kept) > len(terms) else ""))
        said = "; ".join(directions)
        raise InputError(
            f"the information is {kind}: it does not determine {said}, at {user_location()}. Fix "
            "one of these parameters, add data or a prior, or look whether this is a maximum."
        )
    inverse[block] = (V / w) @ V.T / np.outer(scale, scale)
    return inverse


@transform
def fisher_information(model: Callable[..., Any], *, noise: Any = 1.0) -> Callable[..., Any]:
    """Return a function that computes the Fisher information of normal data, ``Jᵀ·Σ⁻¹·J``.

    Parameters
    ----------
    model
        ``model(params, *args)``: the expected data, an array or a container.
    noise
        Standard deviations of the data, one number or an array with one for each, or their
        covariance matrix ``Σ`` of shape ``(m, m)``.

    Returns
    -------
    callable
        ``fisher_information(model)(params, *args)`` returns the information, by leaf and leaf of
        `params`, as `hessian` returns its blocks.

    Raises
    ------
    InputError
        If the noise does not fit the data.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> line = lambda p, t: p["a"] + p["b"] * t
    >>> F = fd.fisher_information(line, noise=0.5)({"a": 1.0, "b": 2.0}, np.arange(3.0))
    >>> F["a"]["b"], F["b"]["b"]
    (np.float64(12.0), np.float64(20.0))
    """

    @name_after(model, "fisher_information")
    @public
    def information(*args: Any) -> Any:
        g, x, at = on_vectors(lambda p: model(p, *args[1:]), args[:1], "fisher_information")
        J = whiten(jacobian(g)(x), noise)
        return at.matrix(J.T @ J)

    return information


def whiten(J: Any, noise: Any) -> Any:
    """Return rows in units of the noise, of which the inner products are the information."""
    rows, given = len(J), np.shape(noise)
    if given == (rows, rows) and np.allclose(noise, np.transpose(noise), atol=0.0):
        with suppress(np.linalg.LinAlgError):
            return np.linalg.solve(np.linalg.cholesky(noise), J)
    fits = given == () or (given != (rows, rows) and np.prod(given) == rows)
    known = np.ones(1) if isinstance(noise, Tracer) else np.asarray(noise)
    positive = known.dtype.kind in "fiu" and np.all((known > 0) & (known < np.inf))
    if not fits or not positive:
        raise InputError(
            f"noise= of shape {given} does not fit {rows} data, or is not positive and finite, at "
            f"{user_location()}. Give one standard deviation, one for each, or their covariance "
            "matrix, which is symmetric and positive definite."
        )
    return J / np.reshape(noise, (-1, 1))


@transform
def confidence_intervals(loglike: Callable[..., Any]) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes confidence intervals of maximum-likelihood estimates.

    Parameters
    ----------
    loglike
        As for `standard_errors`.

    Returns
    -------
    callable
        ``confidence_intervals(loglike)(params, *args, level=0.95, kind="wald", lower=None,
        upper=None)`` returns ``(low, high)``, each like `params`, the maximum.  ``kind="wald"`` is
        the estimate and its standard error times a normal quantile; ``"profile"`` has the values
        where twice the log-likelihood, maximised over all others, is a quantile of χ² below its
        maximum.  Intervals may end at bounds, which are as for `standard_errors`.

    Raises
    ------
    InputError
        If the information is singular, `level` or `kind` is not one of those, or parameters are
        outside of their bounds.
    ConvergenceError
        If `params` is no maximum, or the profile does not fall so far on a side.
    MissingDependencyError
        If SciPy is not installed.

    Warns
    -----
    UncertaintyWarning
        If intervals end at bounds: the message names the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> loglike = lambda rate: 5 * np.log(rate) - 2 * rate
    >>> low, high = fd.confidence_intervals(loglike)(2.5, kind="profile")
    >>> np.round([low, high], 4)
    array([0.8965, 5.3732])
    """

    @name_after(loglike, "confidence_intervals")
    @public
    def intervals(
        *args: Any, level: float = 0.95, kind: Literal["wald", "profile"] = "wald",
        lower: Any = None, upper: Any = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        if kind not in ("wald", "profile") or not is_fraction(level):
            raise InputError(
                f"no intervals of kind={kind!r} and level={level!r}, at {user_location()}. Write "
                "kind='wald' or 'profile', and a fraction, such as level=0.95."
            )
        found = _at_estimate(loglike, args, "confidence_intervals", (lower, upper))
        g, x, at, low, high, free = found
        F, slope = (-d(lambda z: np.sum(g(z)))(x) for d in (hessian, grad))
        cov = inverse_information(F, at, free)
        away = np.sqrt(slope @ cov @ slope)
        # beside a bound, a step of the size in which the likelihood falls there
        fall = np.maximum(np.abs(np.diagonal(F)) + slope**2, np.finfo(float).tiny)
        cov += np.diag(np.where(free, 0, 1 / fall))
        reach = scipy_function("ndtri")((1 + level) / 2)
        if kind == "wald":
            half = reach * np.sqrt(np.diagonal(cov)) * free
            ends = [np.maximum(x - half, low), np.minimum(x + half, high)]
        elif away > 0.01:
            raise ConvergenceError(
                f"the parameters are {away:.2g} standard errors from a maximum, at "
                f"{user_location()}. Maximise the log-likelihood first."
            )
        else:
            profile = _Profile(lambda z: np.sum(g(z)), x.astype(float), cov, low, high, at)
            ends = [np.array([profile.end(k, s * reach) for k in range(x.size)]) for s in (-1, 1)]
        _tell(
            (ends[0] == low) | (ends[1] == high), at, "intervals end at the bounds of parameters",
            "Beyond, the likelihood is not asked.",
        )  # fmt: skip
        return at.vector(ends[0]), at.vector(ends[1])

    return intervals


class _Profile(NamedTuple):
    """A log-likelihood at its maximum `x`, within bounds."""

    g: Callable[[Any], Any]
    x: Any
    cov: Any
    low: Any
    high: Any
    at: Coordinates

    def end(self, k: int, reach: float) -> Any:
        """Return where the profile of a parameter has fallen by ``reach²/2``, or its bound."""
        x, step = self.x[k], np.sqrt(self.cov[k, k])
        edge = self.high[k] if reach > 0 else self.low[k]
        wall = (edge - x) / step  # beyond, the profile is not defined
        if wall == 0:
            return edge
        with np.errstate(all="ignore"):
            if np.isfinite(wall) and self.excess(k, wall, reach) < 0:
                return edge
            near, far = 0.0, reach if abs(reach) < abs(wall) else wall / 2
            for _ in range(40):
                value = self.excess(k, far, reach)
                if np.isfinite(value) and value >= 0:
                    root = scipy_function("brentq", "scipy.optimize")
                    return x + step * root(
                        lambda t: self.excess(k, t, reach), near, far, xtol=1e-10
                    )
                near, wall = (far, wall) if np.isfinite(value) else (near, far)
                far = far * 1.5 if abs(far * 1.5) < abs(wall) else (near + wall) / 2
        raise ConvergenceError(
            f"the profile of x{self.at.name(k)} does not fall by {reach**2 / 2:.3g} "
            f"{'below' if reach < 0 else 'above'} {x:.6g}, at {user_location()}: that side is "
            "unbounded, or the function not defined there. Report the other side only."
        )

    def excess(self, k: int, t: float, reach: float) -> float:
        """Return how far twice the profile has fallen below ``reach²``, `t` errors away."""
        others = np.arange(self.x.size) != k
        units = np.sqrt(np.diagonal(self.cov))
        start = self.x + t * self.cov[:, k] / units[k]  # where a quadratic profile passes
        top = float(self.g(self.x))
        if not np.any(others):
            return 2 * (top - float(self.g(start))) - reach**2
        spread = np.diag(units)[:, others]
        ends = [((b - start) / units)[others] for b in (self.low, self.high)]
        loss = value_and_grad(lambda z: -self.g(start + spread @ z))
        found = scipy_function("minimize", "scipy.optimize")(
            loss, np.zeros(sum(others)), jac=True, method="L-BFGS-B",
            bounds=list(zip(*ends, strict=True)), options={"ftol": 1e-14, "gtol": 1e-7},
        )  # fmt: skip
        return float(2 * (top + found.fun) - reach**2)
