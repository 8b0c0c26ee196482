"""NumPy's linear algebra of traced arrays: values, derivatives, keywords, singular points."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import UnsupportedNumPyError
from funcdiff.testing import check_grads
from tests.together import together

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(11)
A = RANDOM.normal(size=(3, 3))
STACK = RANDOM.normal(size=(2, 3, 3)) + 2 * np.diag([1.0, -1.0, 2.0])
COMPLEX = RANDOM.normal(size=(3, 3)) + 1j * RANDOM.normal(size=(3, 3))
B = RANDOM.normal(size=(3, 2))


def _hermitian(a: Any) -> Any:
    return a + np.conj(np.swapaxes(a, -1, -2))


def _positive(a: Any) -> Any:
    return a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(a.shape[-1])


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(lambda x: (x, f(x)), x, has_aux=True)[2]


def _grad(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.grad(f)(x)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda a: linalg.solve(a, B),
    "solve a vector": lambda a: linalg.solve(a, B[:, 0]),
    "solve for b": lambda a: linalg.solve(A, a),
    "solve a stack": lambda a: linalg.solve(a, np.stack([B, 2 * B, B**2])[:, None]),
    "inv": linalg.inv,
    "det": linalg.det,
    "logarithm of det": lambda a: linalg.slogdet(a)[1],
    "sign of det": lambda a: linalg.slogdet(a).sign,
    "cholesky": lambda a: linalg.cholesky(_positive(a)),
    "cholesky upper": lambda a: linalg.cholesky(_positive(a), upper=True),
    "eigvalsh": lambda a: linalg.eigvalsh(_hermitian(a)),
    "eigvalsh U": lambda a: linalg.eigvalsh(_hermitian(a), "U"),
    "eigh values": lambda a: linalg.eigh(_hermitian(a)).eigenvalues,
    "eigh moduli": lambda a: np.abs(linalg.eigh(_hermitian(a), UPLO="U")[1]) ** 2,
    "svdvals": linalg.svdvals,
    "svd": lambda a: linalg.svd(a[..., :2], compute_uv=False),
    "svd hermitian": lambda a: linalg.svd(_hermitian(a), compute_uv=False, hermitian=True),
    "cond": linalg.cond,
    "cond 1": lambda a: np.real(linalg.cond(a, 1)),  # NumPy 2.0 has it complex
    "cond -2": lambda a: linalg.cond(a, -2),
    "cond fro": lambda a: np.real(linalg.cond(a, "fro")),
    "power 0": lambda a: linalg.matrix_power(a, 0),
    "power 3": lambda a: linalg.matrix_power(a, 3),
    "power 5": lambda a: linalg.matrix_power(a, 5),
    "power -2": lambda a: linalg.matrix_power(a, -2),
    "matmul": lambda a: linalg.matmul(a, a),
    "trace": lambda a: linalg.trace(a, offset=1),
    "diagonal": lambda a: linalg.diagonal(a, offset=-1),
    "transpose": lambda a: linalg.matrix_transpose(a) * np.array([1.0, 2.0, 3.0]),
    "outer": lambda a: linalg.outer(a[..., 0, 0].ravel(), a[..., 1, 2].ravel()),
    "cross": lambda a: linalg.cross(a, a[..., ::-1, :] ** 2),
    "cross axis": lambda a: linalg.cross(a, a**2, axis=-2),
    "vecdot": lambda a: linalg.vecdot(a, a**2, axis=-2),
    "tensordot": lambda a: linalg.tensordot(a, a, axes=((-1,), (-2,))),
    "tensorsolve": lambda a: linalg.tensorsolve(np.reshape(a[..., :2, :2], (-1, 2, 2))[0], B[0]),
}


@together
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_numpy(name: str) -> None:
    f = FUNCTIONS[name]
    for x in (A, STACK, COMPLEX, np.asfortranarray(STACK), A.astype("f4")):
        expected, result = f(x), _value(f, x)
        assert result.dtype == expected.dtype
        scale = 1e-5 if result.dtype.char in "fF" else 1e-13
        np.testing.assert_allclose(result, expected, rtol=scale, atol=scale)


@pytest.mark.parametrize("name", ["inv", "det", "solve", "svdvals", "eigvalsh", "logarithm of det"])
def test_values_of_lapack_are_kept_bit_for_bit(name: str) -> None:
    for x in (A, STACK, COMPLEX, A.astype("f4")):
        np.testing.assert_array_equal(_value(FUNCTIONS[name], x), FUNCTIONS[name](x))


@pytest.mark.thinned(16)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [A, STACK, COMPLEX], ids=["real", "stack", "complex"])
def test_derivatives_equal_central_differences(name: str, x: Any) -> None:
    check_grads(FUNCTIONS[name], (x,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_have_the_precision_of_the_value(name: str) -> None:
    x, t = A.astype("f4"), B @ B.T
    y, f_jvp = fd.linearize(FUNCTIONS[name], x)
    result: Any = f_jvp(t.astype("f4"))
    assert result.dtype == y.dtype
    exact = fd.jvp(FUNCTIONS[name], (A,), (t,))[1]
    np.testing.assert_allclose(result, exact, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("f", [
    linalg.inv, linalg.det, linalg.svdvals, linalg.eigvalsh, linalg.norm,
    lambda a: linalg.eigh(a)[1] ** 2,
    lambda a: linalg.solve(a, a[0]),
    lambda a: linalg.slogdet(a)[1],
    lambda a: linalg.cholesky(a @ a.T),
    lambda a: linalg.norm(a[0], 3),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["f4", "F"])
def test_gradients_in_single_precision_stay_in_single_precision(
    f: Callable[[Any], Any], dtype: str
) -> None:
    x = A.astype(dtype)
    y, f_vjp = fd.vjp(lambda a: f(a @ np.conj(a.T)), x)
    assert y.dtype in (np.float32, np.complex64)
    assert f_vjp(np.ones_like(y))[0].dtype == x.dtype


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
    with pytest.raises(TypeError, match="multi_dot"):
        _value(lambda x: linalg.multi_dot([x, x], out=x.astype(np.float32)), A)


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - {"tensorsolve"}))
def test_a_batch_is_that_of_each_matrix(name: str) -> None:
    f = FUNCTIONS[name]
    expected = [f(x) for x in STACK]
    np.testing.assert_allclose(fd.vmap(f)(STACK), expected, rtol=1e-12, atol=1e-12)
    slopes = [fd.jvp(f, (x,), (A,))[1] for x in STACK]
    batched = fd.vmap(lambda x: fd.jvp(f, (x,), (A,))[1])(STACK)
    np.testing.assert_allclose(batched, slopes, rtol=1e-10, atol=1e-10)


def test_tensor_equations_are_solved_along_the_axes_asked_for() -> None:
    a = RANDOM.normal(size=(2, 3, 6))
    b = RANDOM.normal(size=(2, 3))

    def reordered(a: Any, b: Any) -> Any:
        return linalg.tensorsolve(np.moveaxis(a, 2, 0), b, axes=(0,))

    for f in (linalg.tensorsolve, reordered):
        np.testing.assert_allclose(fd.jvp(f, (a, b), (a, b))[0], f(a, b), rtol=1e-13)
        check_grads(f, (a, b), order=1)


def test_the_inverse_of_a_tensor_has_a_derivative() -> None:
    a = RANDOM.normal(size=(6, 2, 3))
    np.testing.assert_array_equal(
        _value(lambda a: linalg.tensorinv(a, ind=1), a), linalg.tensorinv(a, ind=1)
    )
    check_grads(lambda a: linalg.tensorinv(a, ind=1), (a,))


# ---- the right-hand side of solve --------------------------------------------------------------


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


@pytest.mark.parametrize("f", [
    linalg.matrix_rank,
    lambda x: linalg.matrix_rank(x, 0.5),
    lambda x: linalg.matrix_rank(x[0] + x[0].T, hermitian=True),
    lambda x: linalg.matrix_rank(x, rtol=np.array([0.1, 0.9])),
    lambda x: linalg.matrix_rank(x[0, 0]),
])  # fmt: skip
def test_the_rank_of_a_matrix_is_that_of_numpy(f: Callable[[Any], Any]) -> None:
    for x in (STACK, STACK * np.array([1.0, 0.0, 1.0]), 0 * STACK):
        np.testing.assert_array_equal(_value(f, x), f(x))


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
    with pytest.raises(UnsupportedNumPyError, match=r"np\.linalg\."):
        fd.vjp(f, A)


def test_the_gradient_of_a_determinant_is_the_adjugate_at_singular_matrices() -> None:
    assert not _grad(linalg.det, np.zeros((3, 3))).any()
    a = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 5.0]])
    cofactors = [[14.0, -10.0, 2.0], [-7.0, 5.0, -1.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(_grad(linalg.det, a), cofactors, atol=1e-13)


def test_the_hessian_of_a_determinant_is_exact_at_singular_matrices() -> None:
    x = np.zeros((2, 2))
    t = np.array([[1.0, 2.0], [3.0, 4.0]])
    expected = np.array([[4.0, -3.0], [-2.0, 1.0]])
    forward = fd.jvp(fd.grad(linalg.det), (x,), (t,))[1]
    reverse = _grad(lambda x: np.sum(fd.grad(linalg.det)(x) * t), x)
    np.testing.assert_allclose(forward, expected, atol=1e-15)
    np.testing.assert_allclose(reverse, expected, atol=1e-15)


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
