"""Kinks and singular points: the minimum-norm subgradient, true zeros behind masks, no warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.claims import alike
from tests.properties.calling import every_call
from tests.semantics.modes import gradient, slopes

ROOTS = np.array([0.0, 4.0, 1.0])
MASK = np.array([True, False, True, False])
X = np.array([1.5, -0.5, 2.0, 0.25])

test_at_a_kink_the_subgradient_of_least_norm_is_taken = slopes({
    "abs at zero is zero": [(np.abs, 0.0, 0), (lambda x: np.abs(x).sum(), [0.0, -1.0], [0, -1])],
    "sqrt at zero is infinite": (np.sqrt, 0.0, np.inf),
    "the root of a square at zero is zero": [
        (f, x, slope)
        for f in (lambda x: np.sqrt(x**2), lambda x: (x**2) ** 0.5,
                  lambda x: np.sqrt(np.square(x)), lambda x: np.sqrt(x * x))
        for x, slope in ((0.0, 0), (-2.0, -1))
    ],
    "the square of a root at zero is one": [
        (f, x, 1)
        for f in (lambda x: np.sqrt(x) ** 2, lambda x: np.square(x**0.5))
        for x in (0.0, 4.0)
    ],
    "every norm at zero is zero": [
        (norm, np.zeros(3), np.zeros(3))
        for norm in (
            np.linalg.norm,
            lambda x: np.linalg.norm(x, axis=0),
            lambda x: np.linalg.norm(x, ord=2, axis=0, keepdims=True)[0],
            lambda x: np.linalg.norm(x, 1),
            lambda x: np.linalg.norm(x, np.inf),
            lambda x: np.linalg.norm(x, 3),
            np.linalg.vector_norm,
            lambda x: np.linalg.vector_norm(x, ord=2, axis=-1),
            lambda x: np.linalg.norm(x[:, None], "fro"),
            lambda x: np.linalg.matrix_norm(x[None]),
            lambda x: np.linalg.norm(x) ** 2,
        )
    ],
    "hypot at the origin is zero in both": (lambda v: np.hypot(v[0], v[1]), [0.0, 0.0], [0, 0]),
    "arctan2 at the origin is nan": (
        lambda v: np.arctan2(v[0], v[1]), [0.0, 0.0], [np.nan, np.nan]
    ),
    "arctan2 at the origin can be masked": [
        (lambda v: np.where(np.hypot(v[0], v[1]) > 0, np.arctan2(v[0], v[1]), 0), x, slope)
        for x, slope in (([0.0, 0.0], [0, 0]), ([0.0, 2.0], [0.5, 0]))
    ],
    "steps have derivative zero": [
        (f, x, 0, 0)
        for f in (np.floor, np.ceil, np.trunc, np.rint, np.round, np.sign, np.fix,
                  lambda x: x // 0.7, lambda x: x // np.abs(x))
        for x in (2.3, -1.2)
    ],
    "mod has slopes one and minus the floor": [
        (lambda v: v[0] % v[1], [x, y], [1, -np.floor(x / y)])
        for x, y in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0))
    ],
    "fmod has slopes one and minus the truncation": [
        (lambda v: np.fmod(v[0], v[1]), [x, y], [1, -np.trunc(x / y)])
        for x, y in ((7.5, 2.0), (-7.5, 2.0), (7.5, -2.0))
    ],
    "nan_to_num has derivative zero where it replaced": (
        lambda x: np.sum(np.nan_to_num(x)), [1.0, np.nan, np.inf, -np.inf], [1, 0, 0, 0]
    ),
    "tanh of large numbers has slope zero": [(np.tanh, 1000.0, 0, 0), (np.tanh, -1000.0, 0, 0)],
    "fill values have slopes": [
        (lambda x: np.full_like(x, x[0], shape=3).sum(), X, [3, 0, 0, 0]),
        (lambda x: np.full_like(x, 2.0).sum(), X, [0, 0, 0, 0]),
    ],
    "what is repeated adds up": (lambda x: np.repeat(x, 2)[:3].sum(), X, [2, 1, 0, 0]),
})  # fmt: skip

test_to_rounding_it_is_the_formula = slopes({
    "rows that vanish have no part in the norm along an axis": (
        lambda x: np.sum(np.linalg.norm(x, axis=1, keepdims=True)),
        [[3.0, 4.0], [0.0, 0.0]], [[0.6, 0.8], [0, 0]],
    ),
    "arctan2 on its cut": (lambda x: np.arctan2(x[0], x[1]), [0.0, -1.0], [-1, 0]),
    "sinc at zero has the curvature of minus a third of pi squared": (
        np.sinc, 0.0, 0, -(np.pi**2) / 3
    ),
    "logaddexp of equal infinities shares": [
        (lambda v: np.logaddexp(v[0], v[1]), [x, x], [0.5, 0.5]) for x in (np.inf, -np.inf)
    ],
    "ignored entries of reductions have derivative zero": [
        (f, [2.0, np.nan, 5.0], np.insert(gradient(plain, np.array([2.0, 5.0])), 1, 0))
        for f, plain in ((np.nansum, np.sum), (np.nanmax, np.max), (np.nanprod, np.prod),
                         (np.nanmean, np.mean), (np.nanstd, np.std))
    ],
}, rtol=1e-14, atol=1e-15)  # fmt: skip

test_large_numbers_do_not_overflow = slopes({
    "logaddexp is a softmax": (lambda v: np.logaddexp(v[0], v[1]), [1000.0, 1000.0], [0.5, 0.5]),
    "a shifted sum of exponentials": (
        lambda x: np.max(x) + np.log(np.sum(np.exp(x - np.max(x)))), [1000.0, 1000.0], [0.5, 0.5]
    ),
}, rtol=1e-12)  # fmt: skip

test_complex_abs_at_zero_is_zero = alike(
    {
        "in reverse": (lambda: fd.grad(np.abs)(0j), 0),
        "forward": (lambda: fd.jvp(np.abs, (0j,), (1 + 1j,))[1], 0),
    }
)


def _rooted(x: Any) -> Any:
    return np.where(x > 0, np.sqrt(x), 0)


def _two_masks(x: Any) -> Any:
    y = np.sqrt(x)
    return np.sum(np.where(x > 0, y, 0) + np.where(x > 2, 3 * y, 0))


def _repeated(x: Any) -> Any:
    y = np.broadcast_to(np.sqrt(x), (2, 3))
    return np.sum(np.where(x > 0, y, 0) * np.array([[1.0], [3.0]]))


test_the_untaken_side_contributes_a_true_zero = pytest.mark.filterwarnings(
    "ignore:(divide by zero|invalid value) encountered"  # NumPy's own, of the value
)(slopes({
    "of a root": [(_rooted, 0.0, 0, 0), (_rooted, -1.0, 0, 0), (_rooted, 4.0, 0.25)],
    "of a root, of the third order": [
        (fd.grad(fd.grad(_rooted)), 0.0, 0), (fd.grad(fd.grad(_rooted)), -1.0, 0)
    ],
    "of an array of roots": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 0)), 0)),
        [0.0, 4.0, -9.0, 1.0], [0, 0.25, 0, 0.5], np.diag([0, -1 / 32, 0, -1 / 4]),
    ),
    "of a reciprocal": [
        (lambda x: np.where(x != 0, 1 / x, 0), 0.0, 0, 0),
        (lambda x: np.where(x != 0, 1 / x, 0), 2.0, -0.25),
    ],
    "of x log x": [
        (lambda x: np.where(x > 0, x * np.log(x), 0), 0.0, 0, 0),
        (lambda x: np.where(x > 0, x * np.log(x), 0), 1.0, 1),
    ],
    "under what is computed from it": [
        (lambda x, f=f: f(_rooted(x)), 0.0, 0, 0)
        for f in (lambda x: 3 * x, lambda x: -x, np.sin, lambda x: x * np.exp(x))
    ],
    "of what is masked later by a sum": (
        lambda x: np.sum(np.where(x > 0, np.sqrt(x) * np.array([1.0, 2.0, 3.0]), 0) * 2.0),
        [0.0, 4.0, 0.0], [0, 1, 0],
    ),
    "behind two different masks": (
        _two_masks, [0.0, 1.0, 4.0], [0, 0.5, 1], np.diag([0, -1 / 4, -1 / 8])
    ),
    "repeated before it is masked": (
        _repeated, [0.0, 1.0, 4.0], [0, 2, 1], np.diag([0, -1, -1 / 8])
    ),
    "of elements that are not picked": (
        lambda x: np.sqrt(x)[1] + np.sqrt(x)[2], ROOTS, [0, 0.25, 0.5]
    ),
    "dropped by a boolean mask": (
        lambda x: np.sum(np.sqrt(x)[x > 0]), [0.0, 4.0], [0, 0.25], np.diag([0, -1 / 32])
    ),
    "dropped by an index": (
        lambda x: np.sqrt(x)[1] + np.sum(np.sqrt(x)[[1, 1]]), [0.0, 4.0], [0, 0.75]
    ),
    "dropped by a slice": (lambda x: np.sum(np.sqrt(x)[1:]), ROOTS, [0, 0.25, 0.5]),
}, rtol=1e-14))  # fmt: skip


def test_a_derivative_gives_no_warning_of_its_own() -> None:
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(gradient(lambda x: np.sum(_rooted(x)), np.zeros(2)), [0, 0])


@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered")
def test_x_log_x_at_zero_is_honestly_not_finite() -> None:
    assert not np.isfinite(gradient(lambda x: x * np.log(x), 0.0))


test_a_vertical_tangent_is_infinite_without_an_exception = pytest.mark.filterwarnings(
    "ignore:divide by zero encountered"  # NumPy's own, of the value
)(slopes({
    "at the end of a domain": [
        (f, x, np.inf)
        for f, x in ((np.arcsin, 1.0), (np.arcsin, -1.0), (np.arctanh, 1.0), (np.log, 0.0),
                     (np.log2, 0.0), (np.cbrt, 0.0), (np.arccosh, 1.0))
    ],
    "falling": (np.arccos, 1.0, -np.inf),
}))  # fmt: skip


# ---- on a branch cut the sign of a zero decides --------------------------------------------------


FUNCTIONS = [
    np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arccosh, np.arctanh, np.sqrt, np.log,
]  # fmt: skip
ON_CUTS = [
    complex(2, 0), complex(2, -0.0), complex(-2, 0), complex(-2, -0.0), complex(0, 2),
    complex(-0.0, 2), complex(0, -2), complex(-0.0, -2), complex(0.5, 0), complex(-0.5, -0.0),
]  # fmt: skip
STEP = 1e-6


def _quotient(f: Callable[[Any], Any], z: complex) -> complex:
    """Difference along the axis that z lies on, on its side of it."""
    along_real = z.imag == 0
    ends = [
        np.complex128(complex(z.real + s, z.imag) if along_real else complex(z.real, z.imag + s))
        for s in (STEP, -STEP)
    ]
    return complex((f(ends[0]) - f(ends[1])) / (2 * STEP * (1 if along_real else 1j)))


@pytest.mark.thinned(6)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_slope_on_a_cut_is_that_of_the_side_of_the_zero(f: Callable[[Any], Any]) -> None:
    for z in ON_CUTS:
        found = every_call(fd.grad(f, holomorphic=True), np.complex128(z))
        np.testing.assert_allclose(found, _quotient(f, z), rtol=1e-8, err_msg=repr(z))
