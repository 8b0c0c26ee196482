"""NumPy's linear algebra of traced arrays: values, keywords, singular points, norms."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.testing import check_grads
from tests.together import together

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(11)
A = RANDOM.normal(size=(3, 3))
STACK = RANDOM.normal(size=(2, 3, 3)) + 2 * np.diag([1.0, -1.0, 2.0])
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))
B = RANDOM.normal(size=(3, 2))


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(lambda x: (x, f(x)), x, has_aux=True)[2]


def _grad(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.grad(f)(x)


@pytest.mark.parametrize("f", [
    linalg.inv, linalg.det, linalg.svdvals,
    lambda a: linalg.solve(a, B),
    lambda a: linalg.eigvalsh(a + np.conj(np.swapaxes(a, -1, -2))),
    lambda a: linalg.slogdet(a)[1],
])  # fmt: skip
def test_values_of_lapack_are_kept_bit_for_bit(f: Callable[[Any], Any]) -> None:
    for x in (A, STACK, COMPLEX, np.asfortranarray(STACK), A.astype("f4")):
        np.testing.assert_array_equal(_value(f, x), f(x))


def test_a_chain_of_products_is_multiplied_in_the_order_of_numpy() -> None:
    sizes = [7, 2, 9, 3, 8, 5]
    xs = [RANDOM.normal(size=shape) for shape in pairwise(sizes)]
    for count in (2, 3, 4, 5):
        for ends in (slice(None), 0):
            chain = [xs[0][ends], *xs[1 : count - 1], xs[count - 1][:, ends]]
            expected = linalg.multi_dot(chain)
            (result, _) = fd.jvp(lambda *xs: linalg.multi_dot(xs), tuple(chain), tuple(chain))
            np.testing.assert_array_equal(result, expected)
            check_grads(lambda *xs: linalg.multi_dot(xs), tuple(chain), order=1)


def test_a_chain_of_products_is_written_where_it_is_asked_for() -> None:
    def f(x: Any, count: int) -> Any:
        y = 2 * x
        z = linalg.multi_dot([x] * count, out=y)
        z *= 3
        return y

    for count in (2, 3, 4):
        np.testing.assert_array_equal(_value(partial(f, count=count), A), f(A, count))
        check_grads(partial(f, count=count), (A,))


def test_a_chain_that_ends_in_vectors_is_written_into_a_matrix() -> None:
    def f(x: Any) -> Any:
        y = 2 * x[:1]
        return linalg.multi_dot([x[0], x, x], out=y), y

    for ours, theirs in zip(_value(f, A), f(A), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with pytest.raises(TypeError, match=r"np\.dot"):
        _value(lambda x: linalg.multi_dot([x, x], out=x.astype(np.float32)), A)


# ---- the right-hand side of solve --------------------------------------------------------------


@pytest.mark.thinned(4)
@pytest.mark.parametrize(("left", "right"), [
    ((3, 3), (3,)),
    ((2, 3, 3), (3,)),
    ((2, 3, 3), (3, 1)),
    ((3, 3), (2, 3, 1)),
    ((4, 1, 3, 3), (2, 3, 2)),
    ((2, 3, 3), (2, 3, 3)),
])  # fmt: skip
def test_solve_takes_vectors_only_of_one_axis_and_broadcasts_stacks(left: Any, right: Any) -> None:
    a = RANDOM.normal(size=left) + 3 * np.eye(3)
    b = RANDOM.normal(size=right)
    np.testing.assert_allclose(
        fd.jvp(linalg.solve, (a, b), (a, b))[0], linalg.solve(a, b), rtol=1e-12
    )
    check_grads(linalg.solve, (a, b))


def test_integers_are_solved_in_double_precision() -> None:
    x = _value(lambda b: linalg.solve([[2, 1], [1, 3]], b), np.array([1.0, 2.0], "f4"))
    assert x.dtype == np.float64
    np.testing.assert_allclose(x, [0.2, 0.6])


# ---- singular matrices and refused cases -------------------------------------------------------


@pytest.mark.parametrize("f", [
    lambda x: linalg.tensorinv(x, ind=0),
    lambda x: linalg.eigh(x, "M"),
    lambda x: linalg.norm(x, 3),
    lambda x: linalg.norm(x, "fro", axis=0),
    lambda x: linalg.norm(x, axis=(0, 0)),
    lambda x: linalg.norm(x, 1, axis=(0, 1, 2)),
])  # fmt: skip
def test_wrong_arguments_raise_value_errors_as_in_numpy(f: Callable[[Any], Any]) -> None:
    for call in (f, lambda x: _value(f, x)):
        with pytest.raises(ValueError):  # noqa: PT011
            call(A)


@pytest.mark.parametrize("f", [
    lambda x: linalg.inv(x),
    lambda x: linalg.solve(x, x),
    lambda x: linalg.matrix_power(x, -1),
    lambda x: linalg.cholesky(x),
    lambda x: linalg.inv(x[:2]),
    lambda x: linalg.det(x[0]),
])  # fmt: skip
def test_what_numpy_cannot_factorize_raises_its_error(f: Callable[[Any], Any]) -> None:
    for call in (f, lambda x: fd.vjp(f, x)):
        with pytest.raises(linalg.LinAlgError):
            call(np.zeros((3, 3)))


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("p", [None, 1, -1, 2, "fro", np.inf])
def test_the_condition_number_of_a_singular_matrix_is_that_of_numpy(p: Any) -> None:
    x = np.array([np.zeros((2, 2)), np.eye(2), [[1.0, 2.0], [2.0, 4.0]]])
    np.testing.assert_array_equal(_value(lambda x: linalg.cond(x, p), x), linalg.cond(x, p))


@together
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0)])
@pytest.mark.parametrize("f", [
    linalg.inv, linalg.det, linalg.cholesky, linalg.eigvalsh, linalg.svdvals,
    lambda a: linalg.slogdet(a)[1],
    lambda a: linalg.eigh(a)[1],
    lambda a: linalg.solve(a, a),
    lambda a: linalg.norm(a, 1, axis=(-2, -1)),
])  # fmt: skip
def test_empty_matrices_and_stacks_have_derivatives(f: Callable[[Any], Any], shape: Any) -> None:
    x = np.zeros(shape)
    y, f_vjp = fd.vjp(f, x)
    with suppress(ValueError):  # NumPy 2.0 has no norm of an empty matrix
        assert y.shape == f(x).shape
    assert f_vjp(np.ones_like(y))[0].shape == shape
    assert fd.jvp(f, (x,), (x,))[1].shape == y.shape


def test_half_precision_is_refused_as_in_numpy() -> None:
    for call in (linalg.inv, lambda x: _value(linalg.inv, x)):
        with pytest.raises(TypeError, match="float16 is unsupported in linalg"):
            call(np.eye(2, dtype=np.float16))


@pytest.mark.parametrize("f", [
    lambda x: linalg.multi_dot([x, x], out=np.empty((3, 3))),
    lambda x: linalg.multi_dot([x, x, x], out=np.empty((3, 3))),
])  # fmt: skip
def test_what_is_not_covered_is_refused_by_name(f: Callable[[Any], Any]) -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"np\.dot\(out=\)"):
        fd.vjp(f, A)


def test_determinants_of_a_stack_are_exact_whether_regular_singular_or_nearly_so() -> None:
    q, t = linalg.qr(A)[0], B @ B.T
    spectra = [1.0, 2.0, 3.0], [1.0, 2.0, 0.0], [1.0, 2.0, 1e-9], [1.0, 0.0, 0.0]
    x = np.stack([q * spectrum for spectrum in spectra])

    def cofactors(x: Any) -> Any:
        rows = np.roll(x, -1, axis=-2), np.roll(x, -2, axis=-2)
        (a, b), (c, d) = ((np.roll(y, -1, -1), np.roll(y, -2, -1)) for y in rows)
        return a * d - b * c

    def f(x: Any) -> Any:
        return np.sum(linalg.det(x))

    np.testing.assert_allclose(_grad(f, x), cofactors(x), atol=1e-14)
    exact = fd.jvp(cofactors, (x,), (np.stack([t] * 4),))[1]
    np.testing.assert_allclose(fd.hvp(f, (x,), (np.stack([t] * 4),)), exact, atol=1e-13)


def test_the_gradient_of_a_determinant_that_is_not_a_number_is_none() -> None:
    x = np.stack([np.eye(2), np.full((2, 2), np.nan)])
    gradient = _grad(lambda x: np.sum(linalg.det(x)), x)
    np.testing.assert_array_equal(gradient, x)


def test_large_triangular_systems_are_solved_as_exactly_as_small_ones() -> None:
    random = np.random.default_rng(3)
    x, t = random.normal(size=(2, 130, 130))
    x, t = x @ x.T / 130 + np.eye(130), t + t.T
    y, moved = fd.jvp(linalg.cholesky, (x,), (t,))
    np.testing.assert_allclose(moved @ y.T + y @ moved.T, t, atol=1e-12)
    f_vjp: Any = fd.vjp(linalg.cholesky, x)[1]
    weights = random.normal(size=(130, 130))
    np.testing.assert_allclose(np.sum(f_vjp(weights)[0] * t), np.sum(weights * moved), rtol=1e-9)


def test_the_infinite_slope_of_the_logarithm_of_a_zero_determinant_can_be_masked() -> None:
    assert _grad(lambda x: linalg.slogdet(x)[1], np.zeros((1, 1))) == np.inf
    x = np.stack([np.zeros((2, 2)), np.diag([2.0, 4.0])])

    def masked(x: Any) -> Any:
        sign, logarithm = linalg.slogdet(x)
        return np.sum(np.where(sign == 0, 0.0, logarithm))

    np.testing.assert_array_equal(_grad(masked, x), [np.zeros((2, 2)), np.diag([0.5, 0.25])])


# ---- norms ---------------------------------------------------------------------------------------

# NumPy's stubs do not foresee all that is called here

RANDOM_NORMS = np.random.default_rng(17)
TALL = RANDOM_NORMS.normal(size=(2, 4, 3))

A_NORMS = COMPLEX.real
EVERY_NORM = (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
EVERY_VECTOR_NORM = (None, 1, 2, 3, 2.5, 0.5, -1.5, np.inf, -np.inf)


def _assert_equal(result: Any, expected: Any) -> None:
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("order", EVERY_NORM)
def test_matrix_norms_are_those_of_numpy(order: Any) -> None:
    for x in (TALL, TALL.astype("f4"), np.asfortranarray(TALL)):
        for axis in ((-2, -1), (2, 0)):
            for keepdims in (False, True):

                def f(x: Any, axis: Any = axis, keepdims: Any = keepdims) -> Any:
                    return linalg.norm(x, order, axis, keepdims)

                _assert_equal(_value(f, x), f(x))
    np.testing.assert_array_equal(
        _value(lambda x: linalg.norm(x, order), TALL[0]), linalg.norm(TALL[0], order)
    )


@pytest.mark.thinned(5)
@pytest.mark.parametrize("order", [*EVERY_VECTOR_NORM, 0])
def test_vector_norms_are_those_of_numpy(order: Any) -> None:
    for x in (TALL, TALL.astype("f4"), np.asfortranarray(TALL)):
        for axis in (0, -1):
            for keepdims in (False, True):

                def f(x: Any, axis: Any = axis, keepdims: Any = keepdims) -> Any:
                    return linalg.norm(x, order, axis, keepdims)

                _assert_equal(_value(f, x), f(x))


@pytest.mark.parametrize("order", EVERY_VECTOR_NORM)
def test_the_derivative_of_a_vector_norm_at_zero_is_zero(order: Any) -> None:
    for zero in (np.zeros(3), np.zeros(3, complex)):
        assert not _grad(lambda x: linalg.norm(x, order), zero).any()
        assert not _grad(lambda x: linalg.norm(x, order, 0), zero).any()
        assert fd.jvp(lambda x: linalg.norm(x, order, 0), (zero,), (zero + 1,))[1] == 0
    assert not _grad(lambda x: linalg.vector_norm(x, ord=order or 2), np.zeros(3)).any()
    assert not _grad(lambda x: linalg.norm(x, order) ** 2, np.zeros(3)).any()


@pytest.mark.parametrize("order", EVERY_VECTOR_NORM)
def test_a_zero_among_others_leaves_the_gradient_of_a_norm_finite(order: Any) -> None:
    gradient = _grad(lambda x: linalg.norm(x, order), np.array([1.0, 0.0, 2.0]))
    assert np.isfinite(gradient).all()
    assert gradient[1] == 0


@pytest.mark.parametrize("order", [-1, -2, -0.5])
@pytest.mark.filterwarnings("ignore:overflow|divide")
def test_negative_orders_of_nothing_or_of_the_infinite_are_infinite(order: float) -> None:
    for x in (np.zeros((3, 0)), np.full((2, 2), np.inf)):

        def f(x: Any) -> Any:
            return np.linalg.norm(x, order, axis=-1)

        np.testing.assert_array_equal(fd.jvp(f, (x,), (np.zeros_like(x),))[0], f(x))


@pytest.mark.parametrize("order", [1.0, 2.0, 2.5, -1.5])
def test_a_norm_has_a_derivative_by_its_order(order: float) -> None:
    def f(p: Any) -> Any:
        return linalg.norm(A_NORMS * (1 + 0 * p), p, -1)

    difference = (f(order + 1e-5) - f(order - 1e-5)) / 2e-5
    for found in (
        fd.jacfwd(f)(order),
        fd.jacrev(f)(order),
        fd.vmap(fd.jacrev(f))(np.array([order]))[0],
    ):
        np.testing.assert_allclose(found, difference, rtol=1e-8)
    np.testing.assert_array_equal(fd.jacfwd(f)(np.inf), np.zeros(3))
    np.testing.assert_array_equal(fd.jacfwd(f)(-np.inf), np.zeros(3))
    assert np.isnan(fd.jacfwd(f)(0.0)).all()
    assert fd.grad(lambda p: linalg.norm(np.zeros(3) * p, p))(2.0) == 0


def test_an_ordinary_array_and_a_traced_order_say_what_to_write_or_work() -> None:
    with pytest.raises(UnsupportedNumPyError, match=r"import funcdiff\.numpy as np"):
        fd.grad(lambda p: np.sum(linalg.norm(A_NORMS, p, axis=-1)))(2.0)
    by_order = fd.jacfwd(lambda p: fnp.linalg.norm(A_NORMS, p, axis=-1))(2.0)
    expected = fd.jacfwd(lambda p: linalg.norm(A_NORMS * (1 + 0 * p), p, -1))(2.0)
    np.testing.assert_allclose(by_order, expected, rtol=1e-12)
