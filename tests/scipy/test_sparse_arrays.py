"""Sparse arrays of traced numbers: every format and operator, against SciPy's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse as plain

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.scipy import sparse
from tests.scipy.agreement import assert_agrees

GENERATOR = np.random.default_rng(5)
SHAPE = (5, 4)
ROWS = np.array([0, 3, 1, 4, 1, 3, 0, 2, 4])
COLUMNS = np.array([1, 3, 0, 1, 2, 0, 3, 1, 3])
ENTRIES = GENERATOR.normal(size=9)
X, WIDE, Y = GENERATOR.normal(size=4), GENERATOR.normal(size=(4, 3)), GENERATOR.normal(size=5)
OTHER = plain.coo_array((GENERATOR.normal(size=6), ([0, 1, 2, 3, 4, 4], [1, 0, 1, 3, 2, 0])), SHAPE)
RIGHT = plain.csr_array(np.where(GENERATOR.random((4, 6)) < 0.4, 1.5, 0.0))
FORMATS = [f"{name}_{kind}" for kind in ("array", "matrix")
           for name in ("csr", "csc", "coo", "bsr", "dia")]  # fmt: skip

Call = Callable[..., Any]


def dense(found: Any) -> Any:
    """Return arrays for what is sparse, or one of NumPy's matrices."""
    if isinstance(found, list | tuple):
        return [dense(part) for part in found]
    if hasattr(found, "toarray"):
        return found.toarray()
    return np.asarray(found) if isinstance(found, np.matrix) else found


def build(s: Any, data: Any, name: str = "csr_array") -> Any:
    """Return a sparse array of a format, without places that occur twice."""
    kind = name.partition("_")
    return getattr(s, f"coo_{kind[2]}")((data, (ROWS, COLUMNS)), shape=SHAPE).asformat(kind[0])


METHODS: dict[str, Callable[[Any], Any]] = {
    "A @ x": lambda a: a @ X,
    "A @ X": lambda a: a.dot(WIDE),
    "x @ A": lambda a: [Y @ a, np.ones((2, 5)) @ a],
    "A.T @ x": lambda a: a.T @ Y,
    "A @ B": lambda a: [a @ RIGHT, OTHER.T @ a],
    "*": lambda a: [a * 2.5, 3 * a, a / 4.0, -a, abs(a)],
    "multiply": lambda a: [a.multiply(OTHER), a.multiply(X), a.multiply(Y[:, None])],
    "add": lambda a: [a + OTHER, OTHER.asformat(a.format) - a, a - np.ones(SHAPE)],
    "maximum": lambda a: [a.maximum(OTHER), a.minimum(OTHER)],
    "sum": lambda a: [a.sum(), a.sum(axis=0), a.sum(1), a.mean(0), a.mean(), a.sum(axis=-1)],
    "diagonal": lambda a: [a.diagonal(), a.diagonal(-1), a.trace()],
    "elementwise": lambda a: [a.sin(), a.tanh(), a.power(2), a.conj(), a.real, a.astype("F")],
    "reshape": lambda a: [a.reshape((4, 5)), a.reshape(2, 10), a.toarray(), a.todense()],
    "formats": lambda a: [a.tocsr(), a.tocsc(), a.tocoo(), a.tobsr(), a.todia(), a.copy()],
}


@pytest.mark.thinned(10)
@pytest.mark.parametrize("method", METHODS)
def test_a_method_of_a_sparse_array_agrees(method: str) -> None:
    assert_agrees("scipy.sparse", lambda s, d: dense(METHODS[method](build(s, d))), ENTRIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_the_methods_agree_in_every_format(name: str) -> None:
    assert_agrees(
        "scipy.sparse",
        lambda s, d: [dense(method(build(s, d, name))) for method in METHODS.values()],
        ENTRIES,
        order=1,
        compiled=False,
    )


@pytest.mark.parametrize("name", FORMATS)
def test_formats_are_scipys(name: str) -> None:
    kinds: list[Any] = []

    def function(s: Any, data: Any) -> Any:
        a = build(s, data, name)
        found = [a, a.T, a + OTHER, a @ RIGHT, a.multiply(X), a.tocsr(), abs(a), a.T @ a]
        kinds.append([(b.format, b.shape, isinstance(b, s.sparray)) for b in found])
        return a.sum()

    function(plain, ENTRIES)
    fd.grad(lambda d: function(sparse, d))(ENTRIES)
    assert kinds[0] == kinds[1]
    kind = getattr(sparse, name)
    assert isinstance(build(plain, ENTRIES, name), kind)
    fd.grad(lambda d: float(isinstance(build(sparse, d, name), kind)) * d[0])(ENTRIES)


SLICES: dict[str, Callable[[Any], Any]] = {
    "rows": lambda a: [a[1:4], a[1], a[[0, 3]], a[:, 1]],
    "both": lambda a: [a[1:4, ::2], a[1, 2], a[3, 2], a[[1, 3], [0, 3]]],
}


@pytest.mark.thinned(6)
@pytest.mark.parametrize("name", ["csr_array", "csc_matrix"])
@pytest.mark.parametrize("index", SLICES)
def test_slices_agree(index: str, name: str) -> None:
    assert_agrees("scipy.sparse", lambda s, d: dense(SLICES[index](build(s, d, name))), ENTRIES)


CONSTRUCTORS: dict[str, Call] = {
    "diags": lambda s, d: s.diags([d[:3], d[:4], 1.0], [-1, 0, 1], shape=(4, 4)),
    "diags of numbers": lambda s, d: s.diags([d[0], 2.0, d[1]], [-1, 0, 1], shape=(4, 4)),
    "diags_array": lambda s, d: [
        s.diags_array(d), s.diags_array([d[:3], d[:4]], offsets=[-1, 0], format="csr")
    ],
    "spdiags": lambda s, d: s.spdiags(np.stack([d[:4], d[1:5]]), [0, 1], 4, 4),
    "hstack": lambda s, d: s.hstack([build(s, d), OTHER], format="csr"),
    "vstack": lambda s, d: s.vstack([build(s, d), build(s, d)]),
    "bmat": lambda s, d: s.bmat([[build(s, d), None], [None, RIGHT]]),
    "block_array": lambda s, d: s.block_array([[build(s, d), OTHER]], format="csc"),
    "block_diag": lambda s, d: s.block_diag([build(s, d), RIGHT]),
    "triangles": lambda s, d: [s.tril(build(s, d), -1), s.triu(build(s, d), 1, format="csr")],
    "find": lambda s, d: list(s.find(build(s, d))),
    "kron": lambda s, d: [s.kron(build(s, d), RIGHT), s.kron(RIGHT, build(s, d), format="coo")],
    "kronsum": lambda s, d: s.kronsum(build(s, d)[:4], RIGHT[:3, :3]),
    "places twice": lambda s, d: [
        s.csr_array((d, (ROWS // 2, COLUMNS // 2)), shape=SHAPE),
        s.coo_array((d, (ROWS // 2, COLUMNS // 2)), shape=SHAPE) @ X,
    ],
    "dia": lambda s, d: s.dia_array((d[:8].reshape(2, 4), [0, 1]), shape=(4, 4)),
    "sum of dia": lambda s, d: s.dia_array((d[:8].reshape(2, 4), [0, 1]), shape=(4, 4)).sum(),
    "csr": lambda s, d: s.csr_array((d, COLUMNS, [0, 2, 2, 5, 8, 9]), shape=SHAPE),
    "of another": lambda s, d: s.csc_array(build(s, d), dtype=np.complex128),
}  # fmt: skip


@pytest.mark.thinned(10)
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_constructor_agrees(name: str) -> None:
    assert_agrees("scipy.sparse", lambda s, d: dense(CONSTRUCTORS[name](s, d)), ENTRIES)


@pytest.mark.parametrize("dtype", ["f4", "c8", "c16"])
def test_other_dtypes_agree(dtype: str) -> None:
    data = (ENTRIES + (0.5j if dtype[0] == "c" else 0)).astype(dtype)
    rtol = 1e-5 if dtype in ("f4", "c8") else 1e-12

    def function(s: Any, d: Any) -> Any:
        a = build(s, d)
        return [a @ X.astype(dtype), (a.conj().T @ a).toarray(), a @ X]

    if dtype == "c16":
        assert_agrees("scipy.sparse", function, data)
        return
    found: Any = fd.vjp(lambda d: function(sparse, d), data)[0]
    wanted = function(plain, data)
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_allclose(one, two, rtol=rtol, atol=rtol)


def test_an_array_of_traced_entries_is_returned_as_scipys_own() -> None:
    value: Any = fd.vjp(lambda d: build(sparse, d), ENTRIES)[0]
    assert type(value) is plain.csr_array
    np.testing.assert_array_equal(value.toarray(), build(plain, ENTRIES).toarray())
    np.testing.assert_allclose(fd.jit(lambda d: build(sparse, d) * 2)(ENTRIES).data, 2 * value.data)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "dense": (lambda d: sparse.csr_array(np.diag(d)), "a pattern is constant"),
    "lil": (lambda d: sparse.lil_array(build(sparse, d)), "its pattern changes"),
    "format": (lambda d: sparse.diags_array(d).asformat("dok"), "its pattern changes"),
    "write": (lambda d: build(sparse, d).__setitem__((0, 0), 1.0), "cannot be written to"),
    "method": (lambda d: build(sparse, d).setdiag(1.0), "method setdiag .* the entries are A.data"),
    "quotient": (lambda d: build(sparse, d) / OTHER, "Divide the entries"),
    "out": (lambda d: build(sparse, d).sum(out=np.zeros(())), "out="),
    "maximum": (lambda d: build(sparse, d).maximum(1.0), "a sparse array is expected"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_change_a_pattern_is_refused(name: str) -> None:
    function, message = REFUSED[name]
    with pytest.raises(UnsupportedNumPyError, match=message):
        fd.grad(lambda d: np.sum(function(d)))(ENTRIES)


def test_the_cotangent_of_the_entries_is_never_dense() -> None:
    n = 100_000
    main, side = np.full(n, 2.0), np.full(n - 1, -1.0)
    found = fd.grad(lambda d: np.sum((sparse.diags_array([d, side], offsets=[0, 1]) @ d) ** 2))(
        main
    )
    assert found.shape == (n,)
    assert found[0] == 2 * (2 * 2 - 1 * 2) * 4.0


def test_a_method_of_a_plain_matrix_that_gives_up_is_told_with_the_cure() -> None:
    unit = plain.csr_array(np.eye(3))
    with pytest.raises(UnsupportedNumPyError, match=r"A\.multiply\(C\) for C\.multiply\(A\)"):
        fd.jacobian(lambda d: unit.multiply(sparse.diags_array(d)) @ d)(np.ones(3))
