"""Vector quantization of traced arrays, and trees of clusters, which are refused."""

from __future__ import annotations

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy.cluster import hierarchy, vq
from tests.scipy.agreement import assert_agrees

_rng = np.random.default_rng(2)
OBS = _rng.normal(size=(6, 3))
BOOK = _rng.normal(size=(4, 3))


def test_distances_to_codes_agree() -> None:
    assert_agrees("scipy.cluster.vq", lambda s, x, y: s.vq(x, y)[1], OBS, BOOK)
    codes, distances = fd.vjp(lambda x: vq.vq(x, BOOK), OBS)[0]
    assert codes.dtype == np.int32
    np.testing.assert_array_equal(codes, vq.vq(OBS, BOOK)[0])
    assert distances.shape == (6,)


@pytest.mark.slow
def test_numbers_and_scaled_columns_agree() -> None:
    assert_agrees("scipy.cluster.vq", lambda s, x, y: s.vq(x[:, 0], y[:, 0])[1], OBS, BOOK)
    assert_agrees("scipy.cluster.vq", lambda s, x, y: s.py_vq(x, y)[1], OBS, BOOK)
    assert_agrees("scipy.cluster.vq", lambda s, x: s.whiten(x), OBS)


def test_at_a_code_the_derivative_is_zero_and_equal_columns_stay() -> None:
    slope = fd.grad(lambda x: np.sum(vq.vq(x, BOOK)[1]))(BOOK)
    np.testing.assert_array_equal(slope, np.zeros_like(BOOK))
    single = fd.vjp(lambda x: vq.vq(x, BOOK.astype(np.float32))[1], OBS.astype(np.float32))[0]
    assert single.dtype == np.float32
    single = fd.vjp(lambda x: vq.py_vq(x, BOOK.astype(np.float32))[1], OBS.astype(np.float32))[0]
    assert single.dtype == np.float64  # as SciPy has it
    with pytest.warns(RuntimeWarning, match="standard deviation zero"):
        value = fd.vjp(vq.whiten, np.ones((3, 1)))[0]
    np.testing.assert_array_equal(value, np.ones((3, 1)))


def test_what_joins_clusters_is_refused() -> None:
    with pytest.raises(UnsupportedNumPyError, match="Make the codes of plain arrays"):
        fd.grad(lambda x: np.sum(vq.kmeans(x, 2)[0]))(OBS)
    with pytest.raises(UnsupportedNumPyError, match="Make the tree of plain arrays"):
        fd.grad(lambda x: hierarchy.ward(x)[0, 2])(OBS)
    assert hierarchy.ward(OBS).shape == (5, 4)
    with pytest.raises(ValueError, match="same rank"):
        fd.grad(lambda x: np.sum(vq.vq(x, BOOK[0])[1]))(OBS)
