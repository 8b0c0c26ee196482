"""The untaken side contributes a true zero: whatever was unsafe, however it was masked.

Every mask is held against the same mask of a function that is never evaluated where it is unsafe.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from tests.semantics.masked import (
    DERIVATIVES,
    KEPT,
    UNSAFE,
    WEIGHTS,
    Function,
    kept,
    require_true_zeros,
    weighted,
)


def _assigned(index: Any) -> Callable[[Function, Any], Any]:
    def masked(u: Function, x: Any) -> Any:
        y = u(x) * 1.0
        y[index] = 0.0
        return y

    return masked


def _copied(u: Function, x: Any) -> Any:
    y = x * WEIGHTS
    np.copyto(y, u(x), where=KEPT)
    return y


def _put(u: Function, x: Any) -> Any:
    y = x * WEIGHTS
    np.putmask(y, KEPT, u(x))
    return y


def _multiplied_out(u: Function, x: Any) -> Any:
    return np.multiply(u(x), 3.0, where=KEPT, out=x * WEIGHTS)


MASKS: Final[dict[str, Callable[[Function, Any], Any]]] = {
    "where": kept,
    "where of x": lambda u, x: np.where((x == x) & KEPT, u(x), x),
    "where, the other side": lambda u, x: np.where(~KEPT, np.sin(x), u(x)),
    "two wheres": lambda u, x: np.where(KEPT, np.where(x > 0, u(x) * np.sin(x), 0) * 2, 0),
    "select": lambda u, x: np.select([~KEPT, KEPT], [np.sin(x), u(x)], 0.0),
    "choose": lambda u, x: np.choose(KEPT.astype(int), [x, u(x)]),
    "piecewise": lambda u, x: np.piecewise(x, [KEPT], [lambda z: z * u(x)[KEPT], 0.0]),
    "boolean index": lambda u, x: u(x)[KEPT],
    "compress": lambda u, x: np.compress(KEPT, u(x)),
    "extract": lambda u, x: np.extract(KEPT, u(x)),
    "integer index": lambda u, x: u(x)[[1, 3]],
    "slice": lambda u, x: u(x)[1::2],
    "elements": lambda u, x: u(x)[1] * 3 + 7 * u(x)[3],
    "iteration": lambda u, x: sum(3 * y for y, kept in zip(u(x), KEPT, strict=True) if kept),
    "sum(where=)": lambda u, x: np.sum(u(x), where=KEPT),
    "mean(where=)": lambda u, x: np.mean(u(x), where=KEPT),
    "std(where=)": lambda u, x: np.std(u(x), where=KEPT),
    "prod(where=)": lambda u, x: np.prod(u(x), where=KEPT),
    "max(where=)": lambda u, x: np.max(u(x), where=KEPT, initial=-9.0),
    "multiply(where=, out=)": _multiplied_out,
    "copyto": _copied,
    "putmask": _put,
    "y[mask] = 0": _assigned(~KEPT),
    "y[indices] = 0": _assigned([0, 2]),
    "y[slice] = 0": _assigned(slice(None, None, 2)),
    "delete": lambda u, x: np.delete(u(x), [0, 2]),
    "split": lambda u, x: np.split(u(x), 4)[1] + np.split(u(x), 4)[3],
    "nan_to_num": lambda u, x: np.where(KEPT, np.nan_to_num(u(x)), 0),
    "nansum": lambda u, x: np.nansum(np.where(KEPT, u(x), np.nan)),
    "nanmean": lambda u, x: np.nanmean(np.where(KEPT, u(x), np.nan)),
    "nanstd": lambda u, x: np.nanstd(np.where(KEPT, u(x), np.nan)),
    "nanmedian": lambda u, x: np.nanmedian(np.where(KEPT, u(x), np.nan)),
    "concatenate": lambda u, x: np.concatenate([u(x), x * 2])[[1, 3, 4, 5]],
    "stack": lambda u, x: np.stack([u(x), x * 2], 1)[[1, 3]],
    "flip": lambda u, x: np.flip(u(x))[::2],
    "reshape": lambda u, x: u(x).reshape(2, 2)[:, 1],
    "diag": lambda u, x: np.diag(u(x))[[1, 3]] @ np.ones((4, 4)),
    "ix_": lambda u, x: (u(x)[:, None] * WEIGHTS)[np.ix_([1, 3], [0, 2])],
    "rows": lambda u, x: (u(x)[:, None] * WEIGHTS)[KEPT],
    "swapaxes": lambda u, x: np.swapaxes(u(x)[None] * WEIGHTS[:, None], 0, 1)[KEPT],
    "matmul of where": lambda u, x: np.vander(WEIGHTS) @ kept(u, x),
    "dot of where": lambda u, x: np.dot(x, kept(u, x)),
    "outer of where": lambda u, x: np.tril(np.outer(x, kept(u, x))) @ WEIGHTS,
    "kron of where": lambda u, x: np.kron(kept(u, x), WEIGHTS),
    "pad of slice": lambda u, x: np.pad(u(x)[1::2], 1) * 3,
    "median of index": lambda u, x: np.median(u(x)[KEPT]),
    "quantile of where": lambda u, x: np.quantile(np.where(KEPT, u(x), -WEIGHTS), 0.3),
    "var of where": lambda u, x: np.var(kept(u, x)),
    "hypot of where": lambda u, x: np.hypot(np.where(KEPT, u(x), 1.0), x),
    "logaddexp of where": lambda u, x: np.logaddexp(kept(u, x), x),
    "exp of where": lambda u, x: np.exp(kept(u, x)) ** 2 / (1 + kept(u, x) ** 2),
    "interp of where": lambda u, x: np.interp(kept(u, x), [-9.0, 9.0], [3.0, 8.0]),
    "vmap inside": lambda u, x: fd.vmap(lambda r: kept(u, r) * 2)(np.stack([x, x])),
    "vmap over masks": lambda u, x: fd.vmap(lambda m, y: np.where(m, y, 0) * 2)(KEPT, u(x)),
    "grad inside": lambda u, x: fd.grad(lambda z: np.sum(kept(u, z) * WEIGHTS))(x),
    "jvp inside": lambda u, x: fd.jvp(lambda z: kept(u, z), (x,), (x,))[1],
    "stop_gradient": lambda u, x: fd.stop_gradient(u(x))[KEPT] * u(x)[KEPT],
}


@pytest.mark.thinned(114)
@pytest.mark.parametrize("name", UNSAFE)
@pytest.mark.parametrize("mask", ["where", "boolean index"])
def test_an_unsafe_function_contributes_a_true_zero_where_it_is_masked(
    name: str, mask: str
) -> None:
    u, x = UNSAFE[name]
    require_true_zeros(MASKS[mask], u, np.array(x))


@pytest.mark.thinned(51)
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ["sqrt", "1 / x"])
def test_a_mask_of_any_form_makes_true_zeros(mask: str, name: str) -> None:
    u, x = UNSAFE[name]
    require_true_zeros(MASKS[mask], u, np.array(x))


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", UNSAFE)
def test_derivatives_warn_of_nothing_that_numpys_value_does_not_warn_of(name: str) -> None:
    u, numbers = UNSAFE[name]
    x = np.array(numbers)

    def said(function: Function) -> set[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            function(x)
        return {str(w.message) for w in caught}

    f = weighted(kept, u)
    expected = said(f)
    for derivative in DERIVATIVES.values():
        assert said(derivative(f)) <= expected


def test_a_masked_entry_that_was_written_with_a_step_stays_zero_in_a_piece_without_one() -> None:
    kept, x = np.array([True, False]), np.array([0.3, 0.4, 0.5, 0.6])

    def f(x: Any) -> Any:
        y = np.cos(x)
        y[0:4:2] = np.where(kept, x[:2], 0.0)
        return np.sum(np.sqrt(y[2:4]) * np.array([2.0, 3.0]))

    slope = -1.5 * np.sin(0.6) / np.sqrt(np.cos(0.6))
    np.testing.assert_allclose(fd.grad(f)(x), [0, 0, 0, slope], rtol=1e-14)
    np.testing.assert_allclose(fd.jvp(f, (x,), (np.ones(4),))[1], slope, rtol=1e-14)
    np.testing.assert_allclose(fd.linearize(f, x)[1](np.ones(4)), slope, rtol=1e-14)
