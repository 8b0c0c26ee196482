"""Calls of SciPy by how often programs that want derivatives write them, and how many are right.

The numbers are an estimate, of public code as its writer remembers it: models and fits in physics,
statistics, control, robotics, images and machine learning.  They sum to about a thousand.  What has
no call is refused, with a reason.  ``python -m tests.scipy.used_calls`` prints the weighted share
of the calls whose values, derivatives in both modes and second derivatives are right.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

import funcdiff as fd
from funcdiff.testing import check_grads

NAMES: Final = (
    "cluster.vq", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal",
    "sparse", "sparse.linalg", "spatial", "spatial.distance", "spatial.transform", "special",
    "stats",
)  # fmt: skip


def modules(root: str) -> Any:
    """Return SciPy's modules, or ours, by the last part of their names; ``slinalg`` is sparse's."""
    found = {name.replace("sparse.linalg", "slinalg").rpartition(".")[2]: name for name in NAMES}
    return SimpleNamespace(**{k: import_module(f"{root}.{v}") for k, v in found.items()})


RNG: Final = np.random.default_rng(7)
A: Final = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
P: Final = A @ A.T + 8 * np.eye(4)
B: Final = RNG.normal(size=4)
V: Final = np.array([0.3, 0.8, 1.4, 2.1, 2.9])
W: Final = np.array([0.2, -0.5, 0.9, 1.7, -1.1])
U: Final = np.array([0.15, 0.35, 0.5, 0.65, 0.85])
S: Final = RNG.normal(size=24)
IMAGE: Final = RNG.normal(size=(6, 7))
X: Final = RNG.normal(size=(4, 3))
Y: Final = RNG.normal(size=(3, 3))
R: Final = np.array([0.3, -0.4, 0.2])
ONE: Final = np.asarray(1.3)
TWO: Final = np.asarray(2.2)
K: Final = np.array([1.0, 3.0, 0.0, 2.0, 4.0])
GRID: Final = np.arange(5.0)
TAPS: Final = np.array([0.4, 0.3, 0.2])


def _even(a: Any) -> Any:
    return (a + a.T) / 2


def _oscillator(_t: Any, y: Any, k: Any) -> Any:
    return np.stack([y[1], -k * y[0]])


def _heat(s: Any, d: Any) -> Any:
    matrix = s.sparse.diags_array([d[1:] * 0 - 1, d + 3, d[1:] * 0 - 1], offsets=[-1, 0, 1])
    return matrix.tocsc()


def _rosenbrock(x: Any, a: Any) -> Any:
    return (a - x[0]) ** 2 + 5 * (x[1] - x[0] ** 2) ** 2


Row = tuple[str, float, Callable[..., Any] | None, tuple[Any, ...]]
CALLS: Final[tuple[Row, ...]] = (
    # special
    ("logsumexp", 62, lambda s, x: s.special.logsumexp(x), (W,)),
    ("logsumexp, b and axis", 14, lambda s, x, b: s.special.logsumexp(x, axis=1, b=b), (X, X**2)),
    ("softmax", 14, lambda s, x: s.special.softmax(x), (W,)),
    ("expit", 34, lambda s, x: s.special.expit(x), (W,)),
    ("logit", 8, lambda s, x: s.special.logit(x), (U,)),
    ("gammaln", 38, lambda s, x: s.special.gammaln(x), (V,)),
    ("gamma", 16, lambda s, x: s.special.gamma(x), (V,)),
    ("digamma", 14, lambda s, x: s.special.digamma(x), (V,)),
    ("erf", 30, lambda s, x: s.special.erf(x), (W,)),
    ("erfc, erfcx, erfinv", 12, lambda s, x: s.special.erfinv(s.special.erfc(x) - 1), (W,)),
    ("ndtr, log_ndtr, ndtri", 14, lambda s, x: s.special.log_ndtr(x) + s.special.ndtr(x), (W,)),
    ("xlogy, xlog1py", 10, lambda s, x, y: s.special.xlogy(x, y), (V, U)),
    ("beta, betaln", 8, lambda s, x, y: s.special.betaln(x, y), (V, U)),
    ("gammainc", 8, lambda s, a, x: s.special.gammainc(a, x), (V, V[::-1].copy())),
    ("betainc", 5, lambda s, a, b, x: s.special.betainc(a, b, x), (V, U + 1, U)),
    ("multigammaln", 4, lambda s, a: s.special.multigammaln(a, 2), (V + 1,)),
    ("comb, binom", 5, lambda s, n, k: s.special.binom(n, k), (V + 3, U)),
    ("iv, ive, i0, i1", 10, lambda s, x: s.special.i0e(x) + s.special.i1(x), (V,)),
    ("kv", 8, lambda s, x: s.special.kv(1.5, x), (V,)),
    ("jv, j0, j1", 10, lambda s, x: s.special.jv(2, x) + s.special.j1(x), (V,)),
    ("spherical_jn", 4, lambda s, x: s.special.spherical_jn(2, x), (V,)),
    ("sph_harm_y", 3, lambda s, t, p: s.special.sph_harm_y(3, [2, -1, 0, 1, 3], t, p), (V, W)),
    ("ellipk, ellipe", 4, lambda s, m: s.special.ellipk(m) + s.special.ellipe(m), (U,)),
    ("lambertw", 3, lambda s, x: s.special.lambertw(x).real, (V,)),
    ("hyp2f1", 2, lambda s, x: s.special.hyp2f1(0.5, 1.5, 2.2, x), (U,)),
    ("wofz, voigt_profile", 3, lambda s, x, g: s.special.voigt_profile(x, 0.8, g), (W, U)),
    # stats
    ("norm.logpdf, norm.pdf", 46, lambda s, x, m, c: s.stats.norm.logpdf(x, m, c), (W, ONE, TWO)),
    ("norm.cdf, norm.logcdf, norm.sf", 38,
     lambda s, x, m, c: s.stats.norm.cdf(x, m, c) + s.stats.norm.logsf(x, m, c), (W, ONE, TWO)),
    ("norm.ppf", 12, lambda s, q, m, c: s.stats.norm.ppf(q, m, c), (U, ONE, TWO)),
    ("multivariate_normal.logpdf", 28,
     lambda s, x, m, c: s.stats.multivariate_normal.logpdf(x, m, c @ c.T), (X, Y[0], Y)),
    ("gamma", 12, lambda s, x, a, c: s.stats.gamma.logpdf(x, a, scale=c), (V, TWO, ONE)),
    ("beta", 10, lambda s, x, a, b: s.stats.beta.logpdf(x, a, b), (U, TWO, ONE)),
    ("t", 10, lambda s, x, d: s.stats.t.logpdf(x, d) + s.stats.t.cdf(x, d), (W, TWO)),
    ("lognorm", 7, lambda s, x, c: s.stats.lognorm.logpdf(x, c), (V, ONE)),
    ("expon, uniform", 8, lambda s, x, c: s.stats.expon.logpdf(x, scale=c), (V, ONE)),
    ("weibull_min", 5, lambda s, x, c: s.stats.weibull_min.logsf(x, c), (V, ONE)),
    ("poisson", 10, lambda s, mu: s.stats.poisson.logpmf(K, mu), (V,)),
    ("binom", 7, lambda s, p: s.stats.binom.logpmf(K, 6, p), (U,)),
    ("nbinom", 4, lambda s, n, p: s.stats.nbinom.logpmf(K, n, p), (TWO, U)),
    ("chi2", 6, lambda s, x, d: s.stats.chi2.sf(x, d), (V, TWO)),
    ("invgamma, f, pareto", 5, lambda s, x, a: s.stats.invgamma.logpdf(x, a), (V, TWO)),
    ("cauchy, laplace, logistic", 6, lambda s, x, c: s.stats.cauchy.logpdf(x, 0, c), (W, ONE)),
    ("truncnorm", 5, lambda s, x, b: s.stats.truncnorm.logpdf(x, -2.0, b), (W, TWO)),
    ("skewnorm", 2, lambda s, x, a: s.stats.skewnorm.logcdf(x, a), (W, ONE)),
    ("genextreme, gumbel_r", 4, lambda s, x, c: s.stats.genextreme.logpdf(x, c / 9), (W, ONE)),
    ("vonmises", 3, lambda s, x, k: s.stats.vonmises.logpdf(x, k), (W, TWO)),
    ("dirichlet, wishart", 4, lambda s, a: s.stats.dirichlet.logpdf([0.2, 0.5, 0.3], a), (V[2:],)),
    ("entropy of a sample", 6, lambda s, p, q: s.stats.entropy(p, q), (V, V[::-1].copy())),
    ("gaussian_kde", 8, lambda s, d, x: s.stats.gaussian_kde(d)(x), (S, W)),
    ("zscore, skew, kurtosis", 8, lambda s, x: s.stats.zscore(x) + s.stats.skew(x), (S,)),
    ("pearsonr, linregress", 9, lambda s, x, y: s.stats.pearsonr(x, y)[0], (S, S[::-1] + 0.1 * S)),
    ("entropies of counts", 1,
     lambda s, m, p: s.stats.poisson.entropy(m) + s.stats.binom.entropy(6, p), (V, U)),
    ("rankdata, spearmanr", 6, None, ()),
    ("new distribution objects", 2, None, ()),
    # linalg
    ("solve", 34, lambda s, a, b: s.linalg.solve(a, b), (A, B)),
    ("solve, assume_a='pos'", 8,
     lambda s, a, b: s.linalg.solve(_even(a), b, assume_a="pos"), (P, B)),
    ("cho_factor, cho_solve", 30,
     lambda s, a, b: s.linalg.cho_solve(s.linalg.cho_factor(_even(a)), b), (P, B)),
    ("cholesky", 18, lambda s, a: s.linalg.cholesky(_even(a), lower=True), (P,)),
    ("solve_triangular", 24,
     lambda s, a, b: s.linalg.solve_triangular(a, b, lower=True), (A, B)),
    ("inv, pinv, det", 18, lambda s, a: s.linalg.inv(a) * s.linalg.det(a), (A,)),
    ("expm", 16, lambda s, a: s.linalg.expm(a), (A / 4,)),
    ("eigh", 12, lambda s, a: s.linalg.eigh(_even(a), eigvals_only=True), (A,)),
    ("eig, eigvals", 4, lambda s, a: s.linalg.eigvals(a).real, (A + np.diag(GRID[:4] * 3),)),
    ("svd, svdvals", 8, lambda s, a: s.linalg.svdvals(a), (A,)),
    ("qr, lu", 8, lambda s, a: s.linalg.qr(a)[1], (A,)),
    ("norm, block_diag, toeplitz", 14, lambda s, x: s.linalg.toeplitz(x) / s.linalg.norm(x), (B,)),
    ("sqrtm, logm", 7, lambda s, a: s.linalg.sqrtm(_even(a)), (P,)),
    ("lstsq", 6, lambda s, a, b: s.linalg.lstsq(a, b)[0], (A[:, :2], B)),
    ("solve_discrete_are, lyapunov", 7,
     lambda s, q: s.linalg.solve_discrete_are(A / 9, A[:, :2], _even(q), np.eye(2)), (P,)),
    ("schur, ldl", 2, lambda s, a: s.linalg.schur(a)[0] + s.linalg.ldl(_even(a))[0], (A,)),
    # integrate and optimize
    ("solve_ivp", 34, lambda s, k: s.integrate.solve_ivp(
        _oscillator, (0.0, 1.0), [1.0, 0.0], args=(k,), rtol=1e-12, atol=1e-13).y[:, -1], (ONE,)),
    ("odeint", 14, lambda s, k: s.integrate.odeint(
        _oscillator, [1.0, 0.0], [0.0, 0.5, 1.0], args=(k,), tfirst=True,
        rtol=1e-12, atol=1e-12), (ONE,)),
    ("quad", 14, lambda s, k: s.integrate.quad(lambda t, c: np.exp(-c * t), 0, 2, args=(k,))[0],
     (ONE,)),
    ("trapezoid, simpson", 12, lambda s, y: s.integrate.simpson(y, x=V), (W,)),
    ("minimize", 26, lambda s, a: s.optimize.minimize(
        _rosenbrock, np.ones(2), args=(a,), method="Nelder-Mead", tol=1e-14).x, (ONE,)),
    ("root, fsolve", 10,
     lambda s, a: s.optimize.root(lambda x, c: x**3 + x - c, np.ones(1), args=(a,)).x, (ONE,)),
    ("brentq, newton, root_scalar", 10,
     lambda s, a: s.optimize.brentq(lambda x, c: x**3 + x - c, 0, 3, args=(a,)), (ONE,)),
    ("least_squares, curve_fit", 16, lambda s, y: s.optimize.curve_fit(
        lambda t, a, b: a * np.exp(-b * t), V, y, p0=(1.0, 0.5), ftol=1e-14, xtol=1e-14)[0],
     (np.exp(-0.4 * V) + 0.01 * W,)),
    ("linear_sum_assignment", 2,
     lambda s, c: c[s.optimize.linear_sum_assignment(c)].sum(), (X[:3],)),
    # interpolate
    ("interp1d", 14, lambda s, y, x: s.interpolate.interp1d(GRID, y)(x), (W, V)),
    ("CubicSpline", 12, lambda s, y, x: s.interpolate.CubicSpline(GRID, y)(x), (W, V)),
    ("RegularGridInterpolator", 8,
     lambda s, v, x: s.interpolate.RegularGridInterpolator((np.arange(6.0), np.arange(7.0)), v)(x),
     (IMAGE, np.stack([V, V + 0.4], axis=1))),
    ("splrep, BSpline", 8,
     lambda s, y: s.interpolate.splev(V, s.interpolate.splrep(GRID, y)), (W,)),
    ("PchipInterpolator, Akima", 5,
     lambda s, y: s.interpolate.PchipInterpolator(GRID, y)(V), (np.cumsum(V),)),
    ("RBFInterpolator, griddata", 4,
     lambda s, y: s.interpolate.RBFInterpolator(X, y)(Y), (B,)),
    # signal, fft, ndimage
    ("convolve, fftconvolve", 18, lambda s, x, h: s.signal.fftconvolve(x, h, "same"), (S, TAPS)),
    ("convolve2d", 8, lambda s, x, h: s.signal.convolve2d(x, h, "same"), (IMAGE, Y)),
    ("lfilter", 10,
     lambda s, b, a, x: s.signal.lfilter(b, np.concatenate([[1.0], a]), x), (TAPS, TAPS / 3, S)),
    ("filtfilt, sosfiltfilt", 5,
     lambda s, x: s.signal.filtfilt([0.3, 0.2], [1.0, -0.4], x), (S,)),
    ("hilbert, stft, welch", 6, lambda s, x: np.abs(s.signal.hilbert(x)), (S,)),
    ("fft, ifft, rfft", 16, lambda s, x: np.abs(s.fft.rfft(x)) ** 2, (S,)),
    ("dct, idct", 10, lambda s, x: s.fft.dct(x, norm="ortho"), (S,)),
    ("gaussian_filter", 12, lambda s, x: s.ndimage.gaussian_filter(x, 0.8), (IMAGE,)),
    ("map_coordinates", 8, lambda s, x, p: s.ndimage.map_coordinates(x, p, order=1),
     (IMAGE, np.stack([V, V + 0.4]))),
    ("zoom, rotate, shift", 4, lambda s, x: s.ndimage.shift(x, 0.4), (IMAGE,)),
    ("label, find_objects", 2, None, ()),
    # sparse
    ("matrix @ vector", 20, lambda s, d, x: _heat(s, d) @ x, (V, W)),
    ("spsolve, splu", 12, lambda s, d, x: s.slinalg.spsolve(_heat(s, d), x), (V, W)),
    ("cg, gmres", 5, lambda s, d, x: s.slinalg.cg(_heat(s, d), x, rtol=1e-13)[0], (V, W)),
    ("eigsh, svds", 4, lambda s, d: s.slinalg.eigsh(_heat(s, d), k=2)[0], (V,)),
    # spatial and cluster
    ("cdist", 16, lambda s, x, y: s.distance.cdist(x, y), (X, Y)),
    ("pdist, squareform", 7, lambda s, x: s.distance.squareform(s.distance.pdist(x)), (X,)),
    ("Rotation", 14, lambda s, r: s.transform.Rotation.from_rotvec(r).apply(X), (R,)),
    ("Rotation at no angle", 3,
     lambda s, r: s.transform.Rotation.from_rotvec(r).as_quat(), (0 * R,)),
    ("Rotation, Euler angles", 6,
     lambda s, r: s.transform.Rotation.from_euler("xyz", r).as_matrix(), (R,)),
    ("cKDTree.query", 6, lambda s, x: s.spatial.cKDTree(Y).query(x)[0], (X,)),
    ("ConvexHull, Delaunay", 2, lambda s, x: s.spatial.ConvexHull(x).volume, (X[:, :2],)),
    ("vq", 2, lambda s, x: s.vq.vq(x, Y)[1], (X,)),
)  # fmt: skip
"""What is called, about how often in a thousand, a call, and at what it is differentiated."""


def assert_right(call: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
    """Assert that a call has SciPy's values and right derivatives, twice in reverse mode."""
    plain, ours = modules("scipy"), modules("funcdiff.scipy")

    def function(*xs: Any) -> Any:
        return call(ours, *xs)

    value = fd.vjp(function, *arrays)[0]
    np.testing.assert_allclose(value, call(plain, *arrays), rtol=1e-7, atol=1e-9)
    check_grads(function, arrays, order=1, modes=("forward",))
    check_grads(function, arrays, order=2, modes=("reverse",))


def main() -> None:
    """Print what is not right, and the weighted share of what is."""
    right = total = 0.0
    for name, weight, call, arrays in CALLS:
        total += weight
        if call is None:
            print(f"refused: {name}")
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert_right(call, arrays)
            right += weight
        except Exception as error:
            print(f"wrong: {name}: {type(error).__name__}: {str(error)[:300]}")
    print(f"{right:g} of {total:g}: {right / total:.1%}")


if __name__ == "__main__":
    main()
