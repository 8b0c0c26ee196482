"""`propagate`: the covariance of a result, by linearization at a point and checks of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np

from funcdiff import pytree
from funcdiff.api.batching import vmap
from funcdiff.api.calls.arguments import is_int
from funcdiff.api.calls.transformed import name_after, transform
from funcdiff.api.coordinates import Coordinates, is_fraction, on_vectors, refuse_traced
from funcdiff.api.derivatives.jacobian import jacfwd, jacobian
from funcdiff.api.derivatives.queries import sparsity
from funcdiff.api.derivatives.sparse_matrices import Entries
from funcdiff.core.late import computed, scipy_function
from funcdiff.core.tracebacks import public
from funcdiff.errors import ConcreteValueError, InputError, UncertaintyWarning, user_location
from funcdiff.passes.sparsity.assembly import Pattern
from funcdiff.reading.provenance import jacobians_by_line
from funcdiff.uncertainty.checks import doubts
from funcdiff.uncertainty.covariance import Covariance, covariance

R = TypeVar("R")

_LARGE: Final = 100_000
"""Elements of a Jacobian from which on its pattern is worth a look."""
_NORMAL: Final = 1e12
"""Degrees of freedom for which Student's t is drawn where there are infinitely many."""
_MANY: Final = 20_000_000
"""Second derivatives, at most."""


class _Linear(NamedTuple):
    """A function of vectors at a point, and its derivatives there."""

    g: Any  # the function; none in copies of results
    x: Any
    J: Any
    C: Covariance
    at: Coordinates
    to: Coordinates
    first: Any  # variances to first order
    second: Any  # second derivatives along a factor of the covariance, or none


@dataclass(frozen=True)
class Propagated(Generic[R]):
    """A value with its covariance: ``y, cov = propagated``.

    Attributes
    ----------
    value
        What the function returns at the point.
    cov
        Covariance of its elements, by leaf and leaf: of shape ``y.shape + y.shape`` for an array,
        a variance for a number.  A complex element is a real and an imaginary part, in an axis of
        length 2 behind those of its leaf.
    std
        Standard deviations, like the value, with the axis of length 2 of complex leaves.
    budget
        By path of each leaf of the arguments, the part of the variances that comes from it, like
        `std`; under ``"correlations"`` what comes from the covariances of leaves with each other,
        and under ``"second order"`` what that adds.
    lines
        By line of the user's code that uses the arguments, the part of the variances that comes
        through it, like `std`: the sum is the variance to first order.  A part is negative where a
        line takes back what another one adds.
    shift, sampled, dof
        None but with ``order=2``, the second-order term of the mean, like `std`; with ``samples=``,
        the mean and the covariance of the sampled results, like `std` and `cov`; with ``dof=``, the
        effective degrees of freedom, like `std`.
    """

    value: R
    std: R
    shift: Any
    sampled: tuple[Any, Any] | None
    dof: Any
    _linear: _Linear = field(repr=False)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.cov))

    @computed
    def cov(self) -> Any:
        """The covariance by leaf and leaf; computed when it is asked for."""
        _, _, J, C, _, to, _, second = self._linear
        if C.variances is None:
            total = J @ (C.whole @ J.T)
            total = (total + total.T) / 2
        elif isinstance(J, Entries) and find_spec("scipy") is not None:
            scaled = J._replace(data=J.data * C.factor[J.pattern.columns]).sparse()
            total = (scaled @ scaled.T).toarray()
        else:
            scaled = _dense(J) * C.factor
            total = scaled @ scaled.T
        return to.matrix(total + np.einsum("kij,lij->kl", second, second) / 2)

    @computed
    def budget(self) -> dict[str, Any]:
        """The variances by leaf of the arguments."""
        _, _, J, C, at, to, first, second = self._linear
        found = {}
        for path, (part, _) in zip(at.paths, at.places, strict=True):
            alone = np.zeros(at.size)
            alone[part] = 1
            found[path] = _variances(J, C, alone)
        if C.variances is None:
            found["correlations"] = first - sum(found.values())
        if second.size:
            found["second order"] = np.einsum("kij,kij->k", second, second) / 2
        return {name: to.vector(share) for name, share in found.items()}

    @computed
    def lines(self) -> dict[str, Any]:
        """The variances by line that uses the arguments."""
        at = self._linear
        J = _dense(at.J)
        across = J * at.C.variances if at.C.variances is not None else (at.C.whole @ J.T).T
        parts = jacobians_by_line(at.g, at.x).items()
        shares = {name: np.sum(across * part, axis=1) for name, part in parts}
        return {name: at.to.vector(share) for name, share in shares.items() if np.any(share)}

    def __getstate__(self) -> dict[str, Any]:
        """Have the lines computed, and leave out the function: most cannot be pickled."""
        return {**vars(self), "lines": self.lines, "_linear": self._linear._replace(g=None)}

    def half_width(self, level: float = 0.95) -> Any:
        """Return half the width of the interval of a level: Student's t by `dof`, else normal.

        Parameters
        ----------
        level
            Probability of the interval.

        Returns
        -------
        any
            Expanded uncertainties, like `std`.
        """
        if not is_fraction(level):
            raise InputError(f"level must lie between 0 and 1, got {level}, at {user_location()}.")
        p = (1 + level) / 2
        if self.dof is None:
            normal = scipy_function("ndtri")(p)
            return pytree.map(lambda u: u * normal, self.std)
        quantile = scipy_function("stdtrit")
        return pytree.map(lambda u, nu: u * quantile(nu, p), self.std, self.dof)


@transform
def propagate(f: Callable[..., R]) -> Callable[..., Propagated[R]]:
    """Return a function that computes the value of `f` and its covariance, ``J·C·Jᵀ``.

    Parameters
    ----------
    f
        Function of real floating arrays or containers of them, returning such or complex ones.

    Returns
    -------
    callable
        ``propagate(f)(*args, cov=None, std=None, order=1, samples=0, rng=None, dof=None,
        check=True)`` returns a `Propagated`, which unpacks to the value and its covariance.

        - ``std=``: standard deviations, a container like the arguments (like the argument if
          there is one, else like the tuple of them), with one number per leaf or per element.
        - ``cov=``: such a container of variances, or of matrices for single leaves (of shape
          ``(size, size)`` or ``shape + shape``); one matrix of all elements in the order of the
          leaves; blocks by leaf and leaf as `hessian` and this function return them; or a sparse
          matrix or ``LinearOperator`` of SciPy.
        - ``order=2`` adds the second-order terms of normal arguments: ``tr(Hₖ·C)/2`` to the mean
          (the value stays that at the point, see `Propagated.shift`) and ``tr(Hₖ·C·Hₗ·C)/2`` to
          the covariance.
        - ``samples=`` draws so many normal arguments with ``rng=``, or with ``dof=`` arguments by
          Student's t, and returns the moments of the results beside those of the formula.
        - ``dof=``: degrees of freedom of arguments, a container like them; those of the result are
          by the formula of Welch and Satterthwaite. Correlated arguments count as one, observed
          together: they have equal ones.
        - ``check=False`` omits the search for strong second-order terms and kinks, for which an
          operator of more than 5,000 numbers is too large.

    Raises
    ------
    InputError
        If arguments are not real floating numbers, or uncertainties do not fit them or are not a
        covariance; if correlated arguments have unequal degrees of freedom.
    OutputError
        If a result is an integer or a flag.

    Warns
    -----
    UncertaintyWarning
        If a second-order term is larger than a tenth of the standard deviation, or a kink lies
        within one standard deviation.

    References
    ----------
    JCGM 100:2008, Evaluation of measurement data: Guide to the expression of uncertainty in
    measurement, sections 5.1, 5.2 and G.4; JCGM 101:2008 for samples.

    Examples
    --------
    >>> import numpy as np
    >>> import funcdiff as fd
    >>> ohm = lambda m: m["V"] / m["I"]
    >>> R, variance = fd.propagate(ohm)({"V": 10.0, "I": 2.0}, std={"V": 0.3, "I": 0.02})
    >>> R, np.round(np.sqrt(variance), 4)
    (5.0, np.float64(0.1581))
    """

    @name_after(f, "propagate")
    @public
    def call(
        *args: Any, cov: Any = None, std: Any = None, order: int = 1, samples: int = 0,
        rng: int | np.random.Generator | None = None, dof: Any = None, check: bool = True,
    ) -> Propagated[R]:  # fmt: skip
        if order not in (1, 2) or not is_int(samples) or samples == 1 or samples < 0:
            got = f"got order={order!r} and samples={samples!r}, at {user_location()}"
            raise InputError(f"propagate {got}. Write order=1 or 2, and samples=0 or more than 1.")
        outside = "call it outside of jit, vmap and derivatives."
        refuse_traced((args, cov, std, dof), "fd.propagate", outside)
        g, x, at = on_vectors(f, args, "propagate")
        C = covariance(cov, std, at)
        value = f(*args)
        refuse_traced(value, "fd.propagate", f"f closes over a traced number; {outside}")
        to = Coordinates.of(value)
        J, alone = _jacobian(g, x, diagonal=C.variances is not None)
        first = _variances(J, C)
        freedom = None if dof is None else _Freedom.of(dof, C)
        second = _second_derivatives(g, x, C) if order == 2 else np.zeros((len(first), 0, 0))
        beyond = np.einsum("kij,kij->k", second, second) / 2
        if check:
            for text in doubts(g, x, C, np.sqrt(first), to, alone=alone):
                warnings.warn(text, UncertaintyWarning, stacklevel=4)
        return Propagated(
            value,
            to.vector(np.sqrt(first + beyond)),
            to.vector(np.trace(second, axis1=1, axis2=2) / 2) if order == 2 else None,
            _sample(g, x, C, freedom, samples, rng, to) if samples else None,
            None if freedom is None else to.vector(freedom.effective(J, C, first)),
            _Linear(g, x, J, C, at, to, first, second),
        )

    return call


def _jacobian(g: Callable[[Any], Any], x: Any, *, diagonal: bool) -> tuple[Any, bool]:
    """Return the Jacobian, sparse where that pays, and whether each row has one place at most."""
    if diagonal and x.size**2 > _LARGE:
        pattern = sparsity(g)(x)
        if pattern.nnz * 10 < np.prod(pattern.shape):
            alone = bool(np.max(np.bincount(pattern.rows), initial=0) <= 1)
            data, (rows, columns) = jacobian(g, sparse=True, format="coo")(x)
            return Entries(data, Pattern(rows, columns, pattern.shape)), alone
    return jacobian(g)(x), False


def _variances(J: Any, C: Covariance, weights: Any = 1.0) -> Any:
    """Return the diagonal of ``J·W·C·W·Jᵀ``."""
    if C.variances is not None:
        return _powers(J, 2, C.variances * weights**2)
    weighted = J * weights
    return np.maximum(np.sum(weighted * (C.whole @ weighted.T).T, axis=1), 0.0)


def _powers(J: Any, k: int, weights: Any) -> Any:
    """Return the sum of weighted powers in each row of a Jacobian."""
    if isinstance(J, Entries):
        rows, columns = J.pattern.rows, J.pattern.columns
        return np.bincount(rows, J.data**k * weights[columns], J.pattern.shape[0])
    return J**k @ weights


def _dense(J: Any) -> Any:
    return J.dense() if isinstance(J, Entries) else J


def _second_derivatives(g: Callable[[Any], Any], x: Any, C: Covariance) -> Any:
    """Return those along the columns of a factor of the covariance, of shape (m, r, r)."""
    L = C.spread(np.eye)
    size = np.size(g(x)) * L.shape[1] ** 2
    if size > _MANY:
        raise InputError(
            f"order=2 needs {size} second derivatives here, of each result by each two uncertain "
            f"numbers, at {user_location()}. Compare with samples= instead."
        )
    return jacfwd(jacobian(lambda s: g(x + L @ s)))(np.zeros(L.shape[1]))


def _sample(
    g: Any, x: Any, C: Covariance, freedom: _Freedom | None, n: int, rng: Any, to: Coordinates
) -> tuple[Any, Any]:
    """Return mean and covariance of the results for arguments that are drawn."""
    generator = np.random.default_rng(rng)
    moves = C.spread(lambda r: generator.standard_normal((r, n)))
    if freedom is not None:  # one number of χ² for all that were observed together
        nu = np.minimum(freedom.nu, _NORMAL)[:, None]
        moves *= np.sqrt(nu / generator.chisquare(nu, (len(nu), n)))[freedom.groups]
    points = x + moves.T
    try:
        ys = vmap(g)(points)
    except ConcreteValueError:  # the function decides by values
        ys = np.stack([g(point) for point in points])
    return to.vector(np.mean(ys, axis=0)), to.matrix(np.atleast_2d(np.cov(ys.T)))


class _Freedom(NamedTuple):
    """Degrees of freedom of groups of arguments, correlated with each other and no others."""

    nu: Any
    groups: Any  # of each argument

    @classmethod
    def of(cls, dof: Any, C: Covariance) -> _Freedom:
        """Return those of a container; refuse unequal ones of arguments that are correlated."""
        nu, groups = C.at.flat(dof, "dof=", least=1.0), C.groups
        firsts = np.unique(groups, return_index=True)[1]
        unequal = nu != nu[firsts[groups]]
        if np.any(unequal):
            other = int(np.argmax(unequal))
            one = int(firsts[groups[other]])
            raise InputError(
                f"dof= of x{C.at.name(one)} is {nu[one]:g} and of x{C.at.name(other)} "
                f"{nu[other]:g}, but these are correlated, at {user_location()}. Correlated "
                "arguments are observed together, equally often. If they are correlated by a "
                "common influence, make that an argument, and all of them independent."
            )
        return cls(nu[firsts], groups)

    def effective(self, J: Any, C: Covariance, variances: Any) -> Any:
        """Return those of results, by Welch and Satterthwaite with a term for each group."""
        if C.variances is not None:
            below = _powers(J, 4, C.variances**2 / self.nu)
        else:  # estimates by joint observations are of Wishart's distribution: forms of it are χ²
            parts = [_variances(J, C, 1.0 * (self.groups == k)) for k in range(len(self.nu))]
            below = sum(v**2 / nu for v, nu in zip(parts, self.nu, strict=True))
        return np.where(below > 0, variances**2 / np.where(below > 0, below, 1.0), np.inf)
