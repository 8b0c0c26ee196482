"""Multivariate distributions of ``scipy.stats``: SciPy's own code with Cholesky factors.

SciPy takes eigenvectors of a covariance to see whether it is singular.  They have no derivative
where eigenvalues coincide, as they do for a multiple of the identity; a Cholesky factor, which
whitens as well, has.
"""

from __future__ import annotations

import warnings
from functools import cache, wraps
from typing import Any, Final

import numpy as np

from funcdiff.adapting.conditions import concrete_rank, is_known_to_hold
from funcdiff.errors import NotDifferentiableError, user_location
from funcdiff.numpy.border.promotion import array
from funcdiff.numpy.border.values import integer_or_none
from funcdiff.ops.linalg.pseudoinverse import assured_rank
from funcdiff.ops.structure.structural import stop_gradient
from funcdiff.scipy import special
from funcdiff.scipy.borrowed import borrow_classes, copy_of, define
from funcdiff.scipy.covered import Holder, cover, holds_traced, load
from funcdiff.scipy.places import place, requirements_of
from funcdiff.scipy.stats.draws import check_random_state, drawing
from funcdiff.scipy.stats.rectangles import logcdf, normal_cdf, t_cdf

_MODULE = "scipy.stats._multivariate"
_OBJECTS = (
    "multivariate_normal multivariate_t dirichlet wishart invwishart matrix_normal multinomial "
    "dirichlet_multinomial matrix_t normal_inverse_gamma vonmises_fisher"
)
_NOTE = "Densities, entropies and moments{}; {}fits of traced arrays are refused."
_NAMES_REFUSED = ("rvs", "fit")
_DRAWN = (
    "multivariate_normal", "multivariate_t", "dirichlet", "matrix_normal", "wishart", "invwishart",
    "matrix_t",
)  # fmt: skip
"""Those whose random variates are functions of the parameters."""


_INTEGRATED = ("multivariate_normal", "multivariate_t")
"""Those whose probabilities are functions of the parameters."""


class Semidefinite(Holder):
    """What SciPy's code asks of a covariance: M⁺ = UUᵀ, and ln det M of what is not singular.

    Its rank is SciPy's.  A density of lower rank has a derivative only along changes of M within
    its range, of which the eigenvectors are a basis that does not move.
    """

    def __init__(
        self,
        M: Any,
        cond: Any = None,
        rcond: Any = None,
        lower: bool = True,
        check_finite: bool = True,  # noqa: ARG002 (SciPy's)
        allow_singular: bool | None = None,
    ) -> None:
        whole: Any = array(M)
        constant: Any = stop_gradient(whole)
        s, u = np.linalg.eigh(constant, "L" if lower else "U")
        limit = place(_MODULE, "_eigvalsh_to_eps")(np.ones(1, s.dtype), cond, rcond)
        limit = limit * np.max(np.abs(s))
        if is_known_to_hold(lambda: np.min(s) < -limit):
            raise ValueError("The input matrix must be symmetric positive semidefinite.")
        size = whole.shape[-1]
        count: Any = np.sum(s > limit, dtype=int)
        if allow_singular is False and is_known_to_hold(lambda: count < size):
            raise np.linalg.LinAlgError(
                "When `allow_singular is False`, the input matrix must be symmetric positive "
                "definite."
            )
        rank = size
        if allow_singular:
            rank = concrete_rank(count, "a distribution with allow_singular")
        elif allow_singular is None:  # not said, so that few will be
            found = integer_or_none(array(count))
            whole = assured_rank(whole, array(s <= limit)) if found is None else whole
            rank = size if found is None else found
        basis: Any = u[:, size - rank :]
        inner = whole if rank == size else basis.T @ whole @ basis
        factor = np.linalg.cholesky(inner)
        root = np.swapaxes(np.linalg.inv(factor), -1, -2)
        self._M, self.rank = whole, rank
        self.U: Any = root if rank == size else basis @ root
        self.log_pdet = 2 * np.sum(np.log(np.diagonal(factor)))
        self.eps, self.V = 1e3 * limit, u[:, : size - rank]

    @property
    def pinv(self) -> Any:
        """The inverse."""
        return self.U @ self.U.T

    def _support_mask(self, x: Any) -> Any:
        return np.linalg.norm(x @ self.V, axis=-1) < self.eps


def _psd(M: Any, *args: Any, **kwds: Any) -> Any:
    """Return SciPy's own of a matrix that is not traced."""
    kind = Semidefinite if holds_traced(M) else place(_MODULE, "_PSD")
    return kind(M, *args, **kwds)


def _t_density(
    _self: Any, x: Any, loc: Any, root: Any, log_det: Any, df: Any, dim: int, rank: int, *_: Any
) -> Any:
    """ln Γ(½(ν+d)) - ln Γ(½ν) - ½d·ln(πν) - ½·ln|Σ| - ½(ν+d)·ln(1 + q/ν), normal of infinite ν."""
    gap = x - loc
    q = np.sum(np.square(gap @ root), axis=-1)
    is_normal = np.isinf(df)
    nu = np.where(is_normal, 1.0, df)
    half, whole = nu / 2, (nu + dim) / 2
    norm = special.gammaln(whole) - special.gammaln(half) - dim / 2 * np.log(nu * np.pi)
    t = norm - log_det / 2 - whole * np.log(1 + q / nu)
    found = np.where(is_normal, -(rank * np.log(2 * np.pi) + log_det + q) / 2, t)
    return found if not holds_traced(df) and is_normal else np.squeeze(found)[()]  # as SciPy does


# ---- Wishart's distributions, whose code calls LAPACK for one matrix after another ---------------


def _cholesky_logdet(_self: Any, scale: Any) -> tuple[Any, Any]:
    factor = np.linalg.cholesky(scale)
    return factor, 2 * np.sum(np.log(np.diagonal(factor)))


def _wishart(
    _self: Any, x: Any, dim: int, df: Any, _scale: Any, log_det_scale: Any, factor: Any
) -> Any:
    """½(ν-d-1)·ln|X| - ½tr(V⁻¹X) - ½νd·ln 2 - ½ν·ln|V| - ln Γ_d(ν/2)."""
    points = np.moveaxis(x, -1, 0)
    log_det = np.linalg.slogdet(points)[1]
    inverse = np.linalg.inv(factor)
    trace = np.sum((inverse.T @ inverse) * points, axis=(-2, -1))
    norm = df * dim * np.log(2) / 2 + df * log_det_scale / 2 + special.multigammaln(df / 2, dim)
    return (df - dim - 1) * log_det / 2 - trace / 2 - norm


def _inverse_wishart(_self: Any, x: Any, dim: int, df: Any, log_det_scale: Any, factor: Any) -> Any:
    """½ν·ln|V| - ½(ν+d+1)·ln|X| - ½tr(VX⁻¹) - ½νd·ln 2 - ln Γ_d(ν/2)."""
    points = np.moveaxis(x, -1, 0)
    log_det = np.linalg.slogdet(points)[1]
    trace = np.sum((factor @ factor.T) * np.linalg.inv(points), axis=(-2, -1))
    norm = df * dim * np.log(2) / 2 + special.multigammaln(df / 2, dim)
    return df * log_det_scale / 2 - (df + dim + 1) * log_det / 2 - trace / 2 - norm


def _inverse_wishart_draws(
    self: Any, n: int, shape: Any, dim: int, df: Any, C: Any, random_state: Any
) -> Any:
    """Return (CA⁻¹)·(CA⁻¹)ᵀ for triangular A, whose numbers are normal or χ distributed."""
    if not holds_traced((df, C)):
        return place(_MODULE, "invwishart_gen")._rvs(self, n, shape, dim, df, C, random_state)
    generator = self._get_random_state(random_state)
    root = C @ np.linalg.inv(self._inv_standard_rvs(n, shape, dim, df, generator))
    return root @ np.swapaxes(root, -1, -2)


def _with_last_share(plain: Any) -> Any:
    """Return what processes parameters of SciPy's, where the last share is what others leave.

    Up to 1.17, SciPy makes it so where their sum is not 1 to rounding, next to every point.
    """

    def process(self: Any, n: Any, p: Any) -> Any:
        if not holds_traced(p):
            return plain(self, n, p)
        p = array(p)
        rounding = 10 * np.finfo(np.result_type(p.dtype, np.float32)).eps
        p = p.astype(float)
        last = 1 - np.sum(p[..., :-1], axis=-1)
        is_off = np.abs(1 - np.sum(p, axis=-1)) > rounding
        if is_known_to_hold(lambda: np.any(is_off)):
            plain(self, n, stop_gradient(p))  # which warns
        share = stop_gradient(np.where(is_off, last, p[..., -1])) + (last - stop_gradient(last))
        p = np.concatenate([p[..., :-1], share[..., None]], axis=-1)
        n = np.array(n, dtype=int)
        is_bad = (n < 0) | np.any((p < 0) | (p > 1), axis=-1)
        return n, p, is_bad | is_off if _refuses_sums(plain) else is_bad

    return process


@cache
def _refuses_sums(plain: Any) -> bool:
    """Return whether SciPy has no value where the sum is not 1, as it does from 1.18 on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return bool(plain(None, 1, np.array([0.25, 0.25]))[2])


def _choose_valid(_self: Any, result: Any, is_bad: Any, bad_value: float) -> Any:
    """Return a result with another value where numbers and probabilities are not valid."""
    axes = (1,) * (np.ndim(result) - np.ndim(is_bad))
    return np.where(np.reshape(is_bad, np.shape(is_bad) + axes), bad_value, result)


def _refusing(name: str, plain: Any) -> Any:
    """Return a method of SciPy's that refuses traced arrays."""
    why = "Call it on values that need no derivative, outside the function."
    if name == "rvs":
        why = "Draw standard variates outside, and transform them."
    if name == "rvs" and "multinomial" in plain.__qualname__:
        why = "Its variates are counts, which have no derivative: draw them outside."

    def refuse(self: Any, *args: Any, **kwds: Any) -> Any:
        if holds_traced((args, kwds)) or holds_traced(list(vars(self).values())):
            raise NotDifferentiableError(
                f"scipy.stats: .{name} of a multivariate distribution takes no traced array, at "
                f"{user_location()}. {why}"
            )
        return plain(self, *args, **kwds)

    return refuse


def _note(name: str) -> str:
    if name in _INTEGRATED:
        return "Fit is refused."
    is_drawn = name in _DRAWN
    return _NOTE.format(", and random variates" * is_drawn, "random variates and " * (not is_drawn))


_METHODS: Final[dict[str, dict[str, Any]]] = {
    "wishart": {"_cholesky_logdet": _cholesky_logdet, "_logpdf": _wishart},
    "invwishart": {
        "_cholesky_logdet": _cholesky_logdet,
        "_logpdf": _inverse_wishart,
        "_rvs": _inverse_wishart_draws,
    },
    "multivariate_normal": {"_cdf": normal_cdf},
    "multivariate_t": {"_cdf": t_cdf, "_logpdf": _t_density},
    "multinomial": {"_checkresult": _choose_valid},
}


def _cover(name: str, plain: Any) -> None:
    """Enter a distribution, in whose frozen form most methods are written again."""
    found = copy_of(type(plain))
    for method, ours in _METHODS.get(name, {}).items():
        setattr(found, method, ours)
    if name == "multinomial":
        found._process_parameters = _with_last_share(found._process_parameters)
    for kind in filter(None, (type(plain), getattr(load(_MODULE), f"{name}_frozen", None))):
        if hasattr(kind, "logcdf"):
            copy_of(kind).logcdf = wraps(kind.logcdf)(logcdf)
        for method in _NAMES_REFUSED:
            if method == "rvs" and name in _DRAWN:
                borrowed = copy_of(kind)
                borrowed.rvs = drawing(kind.rvs, borrowed.rvs)
            elif method in vars(kind):
                setattr(copy_of(kind), method, _refusing(method, vars(kind)[method]))
    cover("scipy.stats", name, copy_of(plain), note=_note(name))


with requirements_of("scipy.stats", _OBJECTS):
    define(_MODULE, _PSD=_psd, check_random_state=check_random_state)
borrow_classes("scipy.stats", "Covariance")
for _name in _OBJECTS.split():
    with requirements_of("scipy.stats", _name):
        _plain = getattr(load("scipy.stats"), _name, None)
        if _plain is not None:
            _cover(_name, _plain)
