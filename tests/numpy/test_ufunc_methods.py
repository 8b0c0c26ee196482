"""Methods and keywords of ufuncs: any reduction, scan, outer product, output and mask."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from tests.numpy.agreement import assert_derivatives, assert_value

Function = Callable[..., Any]

NP: Any = np
"""NumPy without the signatures that know nothing of traced arrays, or forbid what is tested."""

RANDOM = np.random.default_rng(11)
X = RANDOM.uniform(0.5, 2, size=(3, 4, 5))
A, B = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 3))
LONG = RANDOM.uniform(0.5, 2, size=40)
POSITIVE = A > 0

FOLDS: list[Any] = [
    np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.logaddexp, np.logaddexp2, np.hypot,
    np.subtract, np.divide, np.remainder,
]  # fmt: skip
REORDERABLE: list[Any] = [np.logaddexp, np.hypot]


@pytest.mark.thinned(10)
@pytest.mark.parametrize("ufunc", FOLDS)
def test_reductions_and_scans_of_any_ufunc_are_those_of_numpy(ufunc: Any) -> None:
    for f in (
        ufunc.reduce,
        lambda x: ufunc.reduce(x, axis=-1, keepdims=True),
        lambda x: ufunc.reduce(x, 1, initial=0.4, where=X > 1) if ufunc is not np.add else x,
        lambda x: ufunc.accumulate(x, axis=1),
        lambda x: ufunc.reduceat(x, [0, 2, 1, 3, 3], axis=1),
    ):
        assert_value(f, X)
        assert_derivatives(f, X)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("ufunc", FOLDS)
def test_stretches_of_several_lengths_are_reduced(ufunc: Any) -> None:
    def f(x: Any) -> Any:
        return ufunc.reduceat(x, [0, 3, 30, 2, 10, 11])

    assert_value(f, LONG)
    assert_derivatives(f, LONG)
    assert_value(lambda x: ufunc.reduceat(x, [0, 1], dtype="f4"), X)


@pytest.mark.parametrize("ufunc", FOLDS)
def test_outer_takes_every_pair(ufunc: Any) -> None:
    assert_value(ufunc.outer, X[0], X[1, 0])
    assert_derivatives(ufunc.outer, X[0], X[1, 0])
    assert_value(lambda x: ufunc.outer(2.0, x, dtype="f4", casting="unsafe"), X[0])


@pytest.mark.parametrize("ufunc", REORDERABLE)
def test_ufuncs_with_an_identity_reduce_several_axes_and_nothing(ufunc: Any) -> None:
    for axis in ((0, 2), None, (1, -1)):
        assert_value(lambda x, axis=axis: ufunc.reduce(x, axis=axis), X)
    assert_derivatives(lambda x: ufunc.reduce(x, axis=None, where=X > 1), X)
    assert_value(lambda x: ufunc.reduce(x[:0]), X)


def test_a_reduction_starts_from_the_identity_as_numpys_does() -> None:
    for f in (
        np.hypot.reduce,
        lambda x: np.hypot.reduce(x, axis=(), keepdims=True),
        lambda x: np.hypot.reduce(x[:1, :1], axis=(0, 1)),
        lambda x: np.hypot.reduceat(x, [0, 0, 2, 1]),
    ):
        assert_value(f, A)
        assert_derivatives(f, A)
    np.testing.assert_array_equal(fd.grad(np.logaddexp.reduce)(np.full(2, -np.inf)), [0.5, 0.5])


def test_a_python_number_keeps_its_kind_in_every_call() -> None:
    for _ in range(3):  # the second call finds the operation recorded by the first
        assert_value(lambda x: np.ldexp(x, 2), A)
        assert_derivatives(lambda x: np.ldexp(x, 2), A)


@pytest.mark.parametrize("f", [
    lambda x: np.add.reduce(x, initial=None),
    lambda x: np.multiply.reduce(x, axis=0, initial=None),
    lambda x: NP.sum(x, axis=0, initial=None),
    lambda x: NP.prod(x, initial=None),
])  # fmt: skip
def test_without_an_initial_value_there_is_no_sum_of_nothing(f: Function) -> None:
    assert_value(f, A)
    with pytest.raises(ValueError, match="which has no identity"):
        f(A[:0])
    with pytest.raises(ValueError, match="which has no identity"):
        fd.vjp(f, A[:0])


def test_logic_starts_from_its_initial_value() -> None:
    for f in (
        lambda x: np.logical_and.reduce(x > -9, initial=False),
        lambda x: np.logical_or.reduce(x > 1, axis=(0, 1), initial=True, keepdims=True),
        lambda x: np.logical_and.reduce(x, axis=1, initial=2.0, where=POSITIVE),
        lambda x: np.logical_or.reduce(x > 9, initial=None),
    ):
        assert_value(f, A)


def test_an_initial_value_has_a_derivative() -> None:
    assert_derivatives(lambda x, y: np.subtract.reduce(x, initial=y, where=X > 1), X, LONG[3])
    assert_derivatives(lambda x, y: np.logaddexp.reduce(x, (0, 1), initial=y), X, LONG[3])


def test_reductions_of_logic_and_in_another_dtype_are_those_of_numpy() -> None:
    for f in (
        lambda x: np.logical_xor.reduce(x > 1),
        lambda x: np.bitwise_or.reduce(x > 1, axis=(0, 1)),
        lambda x: np.logical_and.reduce(x, dtype=bool),
        lambda x: np.maximum.reduce(x, dtype="f4"),
        lambda x: np.divide.reduce((x * 3).astype(int)),
    ):
        assert_value(f, X)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_last_of_a_running_maximum_has_the_derivative_of_the_maximum(sign: int) -> None:
    x = sign * np.array([1.0, 1.0, 0.0, 1.0])
    running, whole = (np.maximum, np.max) if sign > 0 else (np.minimum, np.min)
    gradient = fd.grad(lambda x: running.accumulate(x)[-1])(x)
    np.testing.assert_array_equal(gradient, fd.grad(whole)(x))
    np.testing.assert_allclose(gradient, [1 / 3, 1 / 3, 0, 1 / 3])


def test_a_running_maximum_follows_nan_and_forgets_infinite_slopes() -> None:
    x = np.array([1.0, np.nan, 2.0])
    for ufunc, expected in ((np.maximum, [0, 1, 0]), (np.fmax, [0, 0, 1])):
        gradient = fd.grad(lambda x, ufunc=ufunc: ufunc.accumulate(x)[-1])(x)
        np.testing.assert_array_equal(gradient, expected)

    def root(x: Any) -> Any:
        return np.maximum.accumulate(np.sqrt(x))[-1]

    x = np.array([0.0, 0.0, 4.0, 1.0])
    np.testing.assert_array_equal(fd.grad(root)(x), [0, 0, 0.25, 0])
    assert fd.jvp(root, (x,), (np.ones(4),))[1] == 0.25


@pytest.mark.parametrize("ufunc", [np.hypot, np.logaddexp, np.arctan2, np.subtract, np.divide])
def test_a_long_scan_is_numpys_own_and_its_derivative_a_recurrence(ufunc: np.ufunc) -> None:
    x = 1 + np.random.default_rng(0).random(2000) / 1000
    assert_value(ufunc.accumulate, x)
    program = fd.trace(fd.grad(lambda x: np.sum(ufunc.accumulate(x))))(x)
    assert "scan{" not in str(program)
    assert len(program.equations) < 30
    assert_derivatives(lambda x: ufunc.accumulate(x)[-1], x[:60])


def test_a_scan_of_integers_into_floats_is_folded() -> None:
    n = np.array([3, 1, 2])
    value, _ = fd.jvp(
        lambda x: x * np.arctan2.accumulate(n + (0 * x).astype(int)), (A[0, :1],), (A[0, :1],)
    )
    np.testing.assert_array_equal(value, A[0, 0] * np.arctan2.accumulate(n))


def test_scans_are_batched() -> None:
    found = fd.vmap(np.logaddexp.accumulate)(A)
    np.testing.assert_array_equal(found, np.logaddexp.accumulate(A, axis=1))
    found = fd.vmap(lambda x: np.divide.reduceat(x, [0, 2, 1]))(A)
    np.testing.assert_array_equal(found, np.divide.reduceat(A, [0, 2, 1], axis=1))


@pytest.mark.parametrize(("f", "x", "y"), [
    (lambda a, b: np.matmul(a, b, axes=[(1, 0), (0, 1), (1, 0)]), X[0].T, X[1].T @ X[2]),
    (lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 2), (0, 2)]), A.T, X.transpose(2, 0, 1)),
    (lambda a, b: NP.matmul(a, b, axes=[(1, 0), (0,), (0,)]), A, A[:, 0]),
    (lambda a, b: NP.vecdot(a, b, axis=1), X, X + 1),
    (lambda a, b: NP.vecdot(a, b, axis=1, keepdims=True), X, X + 1),
    (lambda a, b: NP.vecdot(a, b, axes=[0, 1, ()]), A, B),
])  # fmt: skip
def test_vectors_and_matrices_may_lie_along_any_axes(f: Function, x: Any, y: Any) -> None:
    np.testing.assert_allclose(fd.vjp(f, x, y)[0], f(x, y), rtol=1e-13)
    assert_derivatives(f, x, y)


def _written(ufunc: Any, *operands: Any, outputs: int = 1, **keywords: Any) -> Function:
    def f(x: Any) -> Any:
        outs = tuple(np.zeros_like(x) + k for k in range(outputs))
        ufunc(x, *operands, out=outs, **keywords)
        return outs

    return f


@pytest.mark.parametrize("f", [
    _written(np.log, where=POSITIVE),
    _written(np.arctanh, where=np.abs(A) < 1),
    _written(np.divmod, 0.3, outputs=2, where=POSITIVE),
    _written(np.modf, outputs=2),
    _written(np.clip, -0.5, 0.5, where=POSITIVE),
    lambda x: np.add(x, 1, dtype=complex),
    lambda x: np.add(x, 1, signature="dd->d"),
    lambda x: np.clip(x, -0.5, None, casting="safe"),
    lambda x: np.clip(x, -0.5, 0.7, dtype=float),
    lambda x: NP.ravel(x[:, :1], "K") * NP.reshape(x[:, 1:2], (1, 3), order="A"),
])  # fmt: skip
def test_keywords_of_ufuncs_are_honoured(f: Function) -> None:
    assert_value(f, A)
    assert_derivatives(f, A)


@pytest.mark.parametrize("f", [
    lambda x: np.add(x, 1, dtype=int),
    lambda x: NP.add(x, 1, color=3),
    lambda x: np.add(x, 1, dtype="f4", casting="safe"),
    lambda x: np.subtract.reduce(x, axis=(0, 1)),
    lambda x: np.logaddexp.reduce(x, where=x > 0, initial=None),
    lambda x: np.subtract.reduce(x[:0]),
    lambda x: np.add.reduceat(x, [9]),
    lambda x: NP.sin.reduce(x),
    lambda x: NP.vecdot(x, x, axes=[0]),
    lambda x: np.maximum.accumulate(x[0, 0]),
])  # fmt: skip
def test_what_numpy_refuses_is_refused_with_the_same_error(f: Function) -> None:
    errors = []
    for call in (f, fd.grad(lambda x: np.sum(f(x)))):
        with pytest.raises((TypeError, ValueError, IndexError)) as caught:
            call(A)
        errors.append(caught.type)
    assert issubclass(errors[0], errors[1])


def test_an_ordinary_output_is_refused_with_a_cure() -> None:
    with pytest.raises(fd.errors.UnsupportedNumPyError, match="instead of out="):
        fd.grad(lambda x: np.sum(np.sin(x, out=np.zeros((3, 4)))))(A)
    with pytest.raises(fd.errors.UnsupportedNumPyError, match=r"np\.where"):
        fd.grad(lambda x: np.sum(np.sin(x, where=POSITIVE)))(A)


def test_a_function_pads_with_what_it_writes() -> None:
    def border(vector: Any, width: Any, axis: int, keywords: Any) -> None:
        vector[: width[0]] = vector[width[0]] * keywords.get("factor", 3)
        vector[len(vector) - width[1] :] += vector[2] * axis

    def f(x: Any) -> Any:
        return NP.pad(x, ((1, 2), (2, 1)), border, factor=2.5)

    assert_value(f, A)
    assert_derivatives(f, A)
