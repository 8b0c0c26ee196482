"""What functions of SciPy's cost with their gradients, beside JAX's of the same names.

Run ``OMP_NUM_THREADS=1 python -m docs.benchmarks.scipy_functions``, with JAX and SciPy installed
(``pip install -e ".[bench,scipy]"``).  The same program is given to both, compiled by `jit`, in
double precision; each has arrays of its own.  The contestants take turns in one process; the least
time of the processor, of all threads, of a call is printed, and that of the first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import jax
import numpy as np

import funcdiff as fd

jax.config.update("jax_enable_x64", True)

Program = Callable[[Any, Any, Any], Any]
"""``program(np, s, x)``: a number, with a NumPy and a function that finds modules of SciPy's."""

_RANDOM: Final = np.random.default_rng(0)
_MATRIX: Final = _RANDOM.normal(size=(100, 100))
_POSITIVE: Final = _MATRIX @ _MATRIX.T + 100 * np.eye(100)
_SIGNAL: Final = _RANDOM.normal(size=20_000)
_IMAGE: Final = _RANDOM.normal(size=(128, 128))
_PLACES: Final = _RANDOM.random((2, 128, 128)) * 126
_MANY: Final = np.abs(_RANDOM.normal(size=100_000)) + 0.1

_COUNTS: Final = _RANDOM.poisson(2.0, size=100_000)
_ZEROS: Final = np.zeros(100)
_GRID: Final = np.linspace(0.0, 1.0, 50)
_ASKED: Final = _RANDOM.random((100_000, 1))
_VECTOR: Final = np.array([0.3, -0.2, 0.9])

PROGRAMS: Final[dict[str, tuple[Program, Any]]] = {
    "stats.norm.logpdf, 1e5": (lambda np, s, x: np.sum(s("stats").norm.logpdf(x, 0.1, 1.2)), _MANY),
    "stats.norm.logsf, 1e5": (lambda np, s, x: np.sum(s("stats").norm.logsf(x, 0.1, 1.2)), _MANY),
    "stats.gamma.logpdf, 1e5": (lambda np, s, x: np.sum(s("stats").gamma.logpdf(x, 1.7)), _MANY),
    "stats.t.logpdf, 1e5": (lambda np, s, x: np.sum(s("stats").t.logpdf(x, 3.5)), _MANY),
    "stats.beta.logpdf, 1e5": (
        lambda np, s, x: np.sum(s("stats").beta.logpdf(x, 2.1, 1.3)), _MANY / 6,
    ),
    "stats.poisson.logpmf by rate, 1e5": (
        lambda np, s, x: np.sum(s("stats").poisson.logpmf(_COUNTS, x)), _MANY,
    ),
    "stats.multivariate_normal.logpdf, 100": (
        lambda np, s, x: s("stats").multivariate_normal.logpdf(x, _ZEROS, _POSITIVE), _MATRIX[0],
    ),
    "linalg.cho_factor, cho_solve, 100": (
        lambda np, s, x: (
            _MATRIX[0] @ s("linalg").cho_solve(s("linalg").cho_factor((x + x.T) / 2), _MATRIX[0])
        ),
        _POSITIVE,
    ),
    "linalg.solve_triangular, 100 x 100": (
        lambda np, s, x: np.sum(s("linalg").solve_triangular(x, _MATRIX, lower=True)), _POSITIVE,
    ),
    "linalg.expm, 100": (lambda np, s, x: np.sum(s("linalg").expm(x / 50)), _MATRIX),
    "linalg.lu, 100": (lambda np, s, x: np.sum(s("linalg").lu(x)[2] ** 2), _MATRIX),
    "signal.fftconvolve, 2e4": (
        lambda np, s, x: np.sum(s("signal").fftconvolve(x, _SIGNAL[:500]) ** 2), _SIGNAL,
    ),
    "signal.convolve, 2e4 with 500": (
        lambda np, s, x: np.sum(s("signal").convolve(x, _SIGNAL[:500]) ** 2), _SIGNAL,
    ),
    "signal.welch, 2e4": (
        lambda np, s, x: np.sum(np.log(s("signal").welch(x, nperseg=256)[1])), _SIGNAL,
    ),
    "fft.dct, 2e4": (lambda np, s, x: np.sum(s("fft").dct(x) ** 2), _SIGNAL),
    "ndimage.map_coordinates, order 1": (
        lambda np, s, x: np.sum(s("ndimage").map_coordinates(x, _PLACES, order=1) ** 2), _IMAGE,
    ),
    "interpolate.RegularGridInterpolator, 1e5": (
        lambda np, s, x: np.sum(s("interpolate").RegularGridInterpolator((_GRID,), x)(_ASKED) ** 2),
        _RANDOM.normal(size=50),
    ),
    "spatial Rotation, 1e3": (
        lambda np, s, x: np.sum(
            s("spatial.transform").Rotation.from_rotvec(x).apply(_VECTOR) ** 3
        ),
        _RANDOM.normal(size=(1000, 3)),
    ),
    "special.gammainc by both, 1e4": (
        lambda np, s, x: np.sum(s("special").gammainc(x, x + 0.3)), _MANY[:10_000],
    ),
    "special.logsumexp, 1e5": (lambda np, s, x: s("special").logsumexp(x), _MANY),
    "integrate.trapezoid, 1e5": (lambda np, s, x: s("integrate").trapezoid(x**2), _MANY),
}  # fmt: skip


def _ours(program: Program, x: Any) -> Callable[[], Any]:
    find = lambda name: import_module(f"funcdiff.scipy.{name}")
    f = fd.jit(fd.value_and_grad(lambda x: program(np, find, x)))
    return lambda: f(x)


def _jaxs(program: Program, x: Any) -> Callable[[], Any]:
    find = lambda name: import_module(f"jax.scipy.{name}")
    f = jax.jit(jax.value_and_grad(lambda x: program(jax.numpy, find, x)))
    array = jax.numpy.asarray(x)
    return lambda: jax.block_until_ready(f(array))


def _first(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def measure(program: Program, x: Any, rounds: int) -> str:
    """Return a row of the table: first calls, warm calls, and the ratio of these."""
    contestants = [_ours(program, x), _jaxs(program, x)]
    cold, results = zip(*[_first(call) for call in contestants], strict=True)
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-4, atol=1e-6)
    warm = [min(_first(call)[0] for _ in range(3)) for call in contestants]
    for _ in range(rounds):
        warm = [min(w, _first(call)[0]) for w, call in zip(warm, contestants, strict=True)]
    return (
        f"{1e3 * cold[0]:8.1f} {1e3 * cold[1]:8.1f} {1e3 * warm[0]:9.3f} {1e3 * warm[1]:9.3f} "
        f"{warm[0] / warm[1]:7.2f}"
    )


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(f"{'value and gradient, ms':46} {'first':>8} {'JAX':>8} {'warm':>9} {'JAX':>9}   ratio")
    for name, (program, x) in PROGRAMS.items():
        if options.only not in name:
            continue
        try:
            row = measure(program, x, options.rounds)
        except Exception as error:
            row = f"  {type(error).__name__}: {str(error).splitlines()[0][:60]}"
        print(f"{name:46} {row}")


if __name__ == "__main__":
    main()
