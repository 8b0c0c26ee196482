"""Turning, shifting, repeating, padding, triangles and diagonals."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value, each_of
from tests.together import together

A = np.random.default_rng(0).normal(size=(2, 3, 4))
NO: Any = "no"
HALF: Any = 1.5
BACK: Any = "B"
M = np.random.default_rng(1).normal(size=(3, 5))
Q = np.random.default_rng(2).normal(size=(4, 4))
V = np.random.default_rng(3).normal(size=5)
Z = np.array([0.0, 0.0, 1.5, 0.0, 2.5, 0.0])
ONE = np.ones((1, 3)) * V[:3]

CALLS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("flip", np.flip, (A,)),
    ("flip along axes", lambda x: np.flip(x, (0, -1)), (A,)),
    ("fliplr", np.fliplr, (M,)),
    ("flipud", np.flipud, (V,)),
    ("rot90", np.rot90, (M,)),
    ("rot90 twice", lambda x: np.rot90(x, 2), (M,)),
    ("rot90 backwards", lambda x: np.rot90(x, -1, axes=(1, 2)), (A,)),
    ("rot90 in full", lambda x: np.rot90(x, 4), (M,)),
    ("roll", lambda x: np.roll(x, 2), (A,)),
    ("roll along an axis", lambda x: np.roll(x, -4, axis=1), (A,)),
    ("roll along axes", lambda x: np.roll(x, (1, 2), axis=(0, 2)), (A,)),
    ("roll twice along an axis", lambda x: np.roll(x, 1, axis=(1, 1)), (A,)),
    ("roll by nothing", lambda x: np.roll(x, 5), (V,)),
    ("tile", lambda x: np.tile(x, 3), (M,)),
    ("tile with new axes", lambda x: np.tile(x, (2, 1, 3)), (M,)),
    ("tile of few axes", lambda x: np.tile(x, (2,)), (A,)),
    ("repeat", lambda x: np.repeat(x, 3), (M,)),
    ("repeat along an axis", lambda x: x.repeat(2, axis=-1), (A,)),
    ("repeat by counts", lambda x: np.repeat(x, [2, 0, 1], axis=0), (M,)),
    ("resize", lambda x: np.resize(x, (3, 7)), (V,)),
    ("resize to less", lambda x: np.resize(x, 3), (M,)),
    ("meshgrid", lambda x, y: np.meshgrid(x, y, [1.0, 2.0]), (V, Z)),
    ("meshgrid ij", lambda x, y: np.meshgrid(x, y, indexing="ij"), (V, Z)),
    ("meshgrid sparse", lambda x, y: np.meshgrid(x, y, sparse=True, copy=False), (V, Z)),
    ("trim_zeros", lambda x: np.trim_zeros(np.where(Z, x, 0)), (Z,)),
    ("trim_zeros in front", lambda x: np.trim_zeros(np.where(Z, x, 0), "f"), (Z,)),
    ("trim_zeros of all", lambda x: np.trim_zeros(0 * x), (V,)),
    ("trim_zeros of all behind", lambda x: np.trim_zeros(0 * x, BACK), (V,)),
    ("trim_zeros of all in front", lambda x: np.trim_zeros(0 * x, "f"), (V,)),
    ("trim_zeros behind", lambda x: np.trim_zeros(np.where(Z, x, 0), trim=BACK), (Z,)),
    ("vander", np.vander, (V,)),
    ("vander increasing", lambda x: np.vander(x, 3, increasing=True), (V,)),
    ("vander of one column", lambda x: np.vander(x, N=1), (V,)),
    ("diag of a vector", np.diag, (V,)),
    ("diag above", lambda x: np.diag(x, 2), (V,)),
    ("diag below", lambda x: np.diag(x, k=-1), (V,)),
    *((f"diag beyond, {k}", lambda x, k=k: np.diag(x, k), (V,)) for k in (5, -5, 9, -9)),
    *((f"diag of one, {k}", lambda x, k=k: np.diag(x, k), (V[:1],)) for k in (3, -3, 0)),
    ("diag of a matrix", lambda x: np.diag(x, 1), (M,)),
    ("diag of a tall matrix", lambda x: np.diag(x, -3), (M.T,)),
    ("diag far below", lambda x: np.diag(x, -7), (M,)),
    ("diag outside", lambda x: np.diag(x, 7), (M,)),
    ("diagflat", lambda x: np.diagflat(x, 1), (M[:2, :2],)),
    ("diagonal", np.diagonal, (A,)),
    ("diagonal of axes", lambda x: x.diagonal(1, 2, 0), (A,)),
    ("trace", np.trace, (Q,)),
    ("trace of axes", lambda x: x.trace(-1, 1, 2), (A,)),
    ("tril", np.tril, (M,)),
    ("tril below", lambda x: np.tril(x, -1), (A,)),
    ("tril of a vector", np.tril, (V,)),
    ("triu", np.triu, (A,)),
    ("triu above", lambda x: np.triu(x, k=2), (M,)),
    ("pad", lambda x: np.pad(x, 2), (M,)),
    (
        "pad with values",
        lambda x: np.pad(x, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))),
        (M,),
    ),
    ("pad by a dict", lambda x: np.pad(x, {-1: (1, 2)}), (M,)),
    ("pad of nothing", lambda x: np.pad(x, 2), (M[:0],)),
    ("pad edge", lambda x: np.pad(x, ((1, 2), (0, 3)), "edge"), (M,)),
    (
        "pad linear_ramp",
        lambda x: np.pad(x, ((1, 2), (2, 3)), "linear_ramp", end_values=((5, -4), (0.5, 1))),
        (M,),
    ),
    ("pad maximum", lambda x: np.pad(x, ((1, 2), (2, 3)), "maximum"), (M,)),
    ("pad mean", lambda x: np.pad(x, ((1, 2), (2, 3)), "mean"), (M,)),
    ("pad median", lambda x: np.pad(x, ((1, 2), (2, 3)), "median"), (M,)),
    ("pad minimum", lambda x: np.pad(x, ((1, 2), (2, 3)), "minimum"), (M,)),
    ("pad mean of some", lambda x: np.pad(x, 2, "mean", stat_length=((1, 2), (3, 9))), (M,)),
    ("pad reflect", lambda x: np.pad(x, ((1, 2), (2, 3)), "reflect"), (M,)),
    ("pad symmetric", lambda x: np.pad(x, ((1, 2), (2, 3)), "symmetric"), (M,)),
    ("pad wrap", lambda x: np.pad(x, ((1, 2), (2, 3)), "wrap"), (M,)),
    ("pad reflect far", lambda x: np.pad(x, (13, 8), "reflect"), (V,)),
    ("pad symmetric far", lambda x: np.pad(x, (13, 8), "symmetric"), (V,)),
    ("pad wrap far", lambda x: np.pad(x, (13, 8), "wrap"), (V,)),
    ("pad reflect odd", lambda x: np.pad(x, ((1, 2), (2, 3)), "reflect", reflect_type="odd"), (M,)),
    (
        "pad symmetric odd",
        lambda x: np.pad(x, ((1, 2), (2, 3)), "symmetric", reflect_type="odd"),
        (M,),
    ),
    ("pad reflect odd far", lambda x: np.pad(x, (13, 8), "reflect", reflect_type="odd"), (V[:3],)),
    (
        "pad symmetric odd far",
        lambda x: np.pad(x, (13, 8), "symmetric", reflect_type="odd"),
        (V[:3],),
    ),
    ("pad reflect of one", lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), (ONE,)),
]


@together
@each_of(CALLS)
def test_values_are_those_of_numpy(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_value(f, *args)


@together
@each_of(CALLS)
def test_derivatives_agree_in_both_modes(f: Callable[..., Any], args: tuple[Any, ...]) -> None:
    assert_derivatives(f, *args, order=1)


@pytest.mark.parametrize(("f", "error", "message"), [
    (lambda x: np.flip(x, 3), np.exceptions.AxisError, "out of bounds"),
    (lambda x: np.fliplr(x[0, 0]), ValueError, "2-d"),
    (lambda x: np.rot90(x, axes=(1, 1)), ValueError, "different"),
    (lambda x: np.repeat(x, -1), ValueError, "negative"),
    (lambda x: np.meshgrid(x[0, 0], indexing=NO), ValueError, "indexing"),
    (lambda x: np.trim_zeros(x, NO), ValueError, "trim"),
    (lambda x: np.vander(x), ValueError, "one-dimensional"),
    (lambda x: np.diag(x), ValueError, "1- or 2-d"),
    (lambda x: np.diagonal(x, 0, 1, 1), ValueError, "cannot be the same"),
    (lambda x: np.pad(x, 1, NO), ValueError, "not supported"),
    (lambda x: np.pad(x, 1, "edge", end_values=3), ValueError, "unsupported keyword"),
    (lambda x: np.pad(x, -1), ValueError, "negative"),
    (lambda x: np.pad(x, HALF), TypeError, "integral"),
    (lambda x: np.pad(x[:0], 1, "edge"), ValueError, "can't extend empty axis"),
])  # fmt: skip
def test_what_does_not_fit_is_said(f: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fd.vjp(f, A)


def test_a_grid_of_matrices_needs_no_layout() -> None:
    x = np.arange(6.0).reshape(3, 2).T
    for way in (fd.jit, lambda f: lambda x: fd.vmap(f)(np.stack([x, x]))[1]):
        found = way(lambda x: np.stack(np.meshgrid(x, x * 2)))(x)
        np.testing.assert_array_equal(found, np.stack(np.meshgrid(x, x * 2)))
