"""QR and general eigenproblems of traced arrays: values, derivatives, what does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, NotDifferentiableError, UnsupportedNumPyError
from funcdiff.testing import check_grads
from tests.together import together

linalg: Any = np.linalg  # NumPy's stubs do not foresee all that is called here

RANDOM = np.random.default_rng(7)
SHAPES = [(3, 3), (4, 2), (2, 4), (1, 1), (3, 1), (1, 3), (2, 3, 2), (2, 2, 2)]


def _normal(*shape: int, dtype: Any = float) -> Any:
    x = RANDOM.normal(size=shape)
    return x + 1j * RANDOM.normal(size=shape) if dtype is complex else x


def _value(f: Callable[[Any], Any], x: Any) -> Any:
    return fd.vjp(lambda x: (np.sum(x), f(x)), x, has_aux=True)[2]


# ---- QR: values and derivatives ------------------------------------------------------------------


@pytest.mark.slow
@together
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D"])
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_the_factors_of_qr_are_those_of_numpy(shape: Any, dtype: str, mode: str) -> None:
    x = _normal(*shape, dtype=complex).astype(dtype) if dtype in "FD" else _normal(*shape)
    x = x.astype(dtype)
    expected, result = linalg.qr(x, mode), _value(lambda x: linalg.qr(x, mode), x)
    assert type(result) is type(expected)
    for ours, theirs in zip(result, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    r = _value(lambda x: linalg.qr(x, mode="r"), x)
    np.testing.assert_array_equal(r, linalg.qr(x, mode="r"))


def _complete(a: Any) -> Any:
    """Return the leading columns of a complete Q, the projector on the others, and R."""
    q, r = linalg.qr(a, mode="complete")
    rest = q[..., min(a.shape[-2:]) :]
    return q[..., : min(a.shape[-2:])], rest @ np.conj(np.swapaxes(rest, -1, -2)), r


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [float, complex])
def test_what_does_not_depend_on_the_basis_of_a_complement_has_derivatives(
    shape: Any, dtype: Any
) -> None:
    check_grads(_complete, (_normal(*shape, dtype=dtype),))


@pytest.mark.slow
def test_a_complement_of_one_real_dimension_has_derivatives_of_its_own() -> None:
    check_grads(lambda a: linalg.qr(a, mode="complete").Q, (_normal(3, 2),))


@pytest.mark.parametrize(("shape", "dtype"), [((4, 2), float), ((3, 2), complex)])
def test_what_depends_on_the_basis_of_a_complement_raises(shape: Any, dtype: Any) -> None:
    def f(a: Any) -> Any:
        return np.sum(linalg.qr(a, mode="complete").Q[:, 2:].imag * np.array([1.0, 3.0]))

    def g(a: Any) -> Any:
        return np.sum(linalg.qr(a, mode="complete").Q[:, 2:].real * np.arange(2.0))

    x = _normal(*shape, dtype=dtype)
    for h in (f,) if dtype is complex else (g,):
        with pytest.raises(NotDifferentiableError, match="mode='reduced'"):
            fd.grad(h)(x)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 3, 2), (2, 0, 3)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "raw"])
def test_qr_of_empty_arrays_has_derivatives(shape: Any, mode: str) -> None:
    x = np.zeros(shape)
    y, f_vjp = fd.vjp(lambda a: tuple(linalg.qr(a, mode)), x)
    assert [part.shape for part in y] == [part.shape for part in linalg.qr(x, mode)]
    assert f_vjp(y)[0].shape == shape


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2), (1, 1), (3, 1)])
def test_the_raw_factors_are_numpys_and_move_with_q_and_r(shape: Any, dtype: Any) -> None:
    a, t = _normal(*shape, dtype=dtype), _normal(*shape, dtype=dtype)[..., ::-1]
    values, moved = fd.jvp(lambda a: linalg.qr(a, "raw"), (a,), (t,))
    for found, expected in zip(values, linalg.qr(a, "raw"), strict=True):
        assert_array_equal(found, expected, strict=True)
    step = 1e-6
    ahead, behind = (linalg.qr(a + sign * step * t, "raw") for sign in (1, -1))
    for slope, upper, lower in zip(moved, ahead, behind, strict=True):
        assert_allclose(slope, (upper - lower) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("a", [np.eye(3), np.triu(np.arange(1.0, 10).reshape(3, 3))[:, :2]])
def test_the_raw_mode_refuses_what_is_not_reflected(a: Any) -> None:
    with pytest.raises(NotDifferentiableError, match="mode='reduced'"):
        fd.grad(lambda a: np.sum(linalg.qr(a, "raw")[0] * np.arange(3)))(a)


@pytest.mark.parametrize("mode", ["economic", "f"])
def test_modes_that_are_no_factors_are_refused(mode: str) -> None:
    with pytest.raises(UnsupportedNumPyError, match="mode='reduced'"):
        _value(lambda a: linalg.qr(a, mode), np.eye(2))


def test_an_unknown_mode_of_qr_raises_as_in_numpy() -> None:
    for call in (linalg.qr, lambda a, mode: _value(lambda a: linalg.qr(a, mode), a)):
        with pytest.raises(ValueError, match="Unrecognized mode"):
            call(np.eye(2), "all")


# ---- QR: dependent columns -----------------------------------------------------------------------


def test_a_singular_real_matrix_has_the_derivatives_of_its_leading_columns() -> None:
    a = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0], [0.5, 1.0, 1.5]])
    check_grads(lambda a: tuple(linalg.qr(a)), (a,))


def test_derivatives_that_depend_on_dependent_columns_are_not_finite() -> None:
    a = np.array([[1.0, 2.0, 0.3], [2.0, 4.0, 1.0], [0.5, 1.0, -1.0], [3.0, 6.0, 0.7]])
    for place in ((0, 1), (3, 2)):
        gradient = fd.grad(lambda a, place=place: linalg.qr(a)[0][place])(a)
        assert not np.isfinite(gradient).all()
    assert not np.isfinite(fd.grad(lambda a: linalg.qr(a)[1][1, 2])(a)).all()
    leading = fd.grad(lambda a: linalg.qr(a)[0][0, 0] + linalg.qr(a)[1][0, 2])
    alone = np.delete(a, 1, axis=1)
    expected = fd.grad(lambda a: linalg.qr(a)[0][0, 0] + linalg.qr(a)[1][0, 1])(alone)
    np.testing.assert_allclose(np.delete(leading(a), 1, axis=1), expected, atol=1e-14)


def test_a_matrix_of_dependent_columns_can_be_masked() -> None:
    x = np.stack([np.zeros((3, 2)), _normal(3, 2)])

    def f(x: Any) -> Any:
        q, r = linalg.qr(x)
        regular = np.abs(r[:, 1, 1]) > 0
        return np.sum(np.where(regular[:, None, None], q, 0.0) ** 3)

    gradient = fd.grad(f)(x)
    assert not gradient[0].any()
    np.testing.assert_allclose(gradient[1], fd.grad(f)(x[1:])[0], rtol=1e-13)
    assert fd.jvp(f, (x,), (np.ones_like(x),))[1] == pytest.approx(gradient[1].sum())


# ---- general eigenproblems: values and derivatives -----------------------------------------------

SPREAD = np.array([[0.4, 0.7, -0.2], [-0.1, 2.1, 0.5], [0.3, -0.4, 4.0]])
TURNING = np.array([[1.2, -2.0, 0.3], [1.1, 0.9, 0.4], [0.2, -0.3, 3.0]])
COMPLEX = np.diag([0.3 + 0.5j, 2.0 - 1.0j, 3.0j]) + 0.3 * _normal(3, 3, dtype=complex)
MATRICES = {
    "real": SPREAD,
    "turning": TURNING,
    "complex": COMPLEX,
    "stack": np.stack([SPREAD, TURNING]),
    "one": np.array([[-2.0]]),
}


def _exponential(a: Any) -> Any:
    w, v = linalg.eig(a)
    return (v * np.exp(w)[..., None, :]) @ linalg.inv(v)


@pytest.mark.parametrize("name", MATRICES)
def test_eigenvalues_and_vectors_are_those_of_numpy(name: str) -> None:
    x = MATRICES[name]
    for a in (x, x.astype("F" if x.dtype.kind == "c" else "f4"), np.zeros_like(x[..., :0, :0])):
        expected, result = linalg.eig(a), _value(linalg.eig, a)
        assert type(result) is type(expected)
        pairs = [*zip(result, expected, strict=True)]
        for ours, theirs in [*pairs, (_value(linalg.eigvals, a), linalg.eigvals(a))]:
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs)


def test_large_matrices_in_single_precision_have_the_derivatives_of_double_precision() -> None:
    x = _normal(40, 40)
    exact = fd.grad(lambda a: np.sum(np.abs(linalg.eigvals(a)) ** 3))(x)
    rounded = fd.grad(lambda a: np.sum(np.abs(linalg.eigvals(a)) ** 3))(x.astype("f4"))
    np.testing.assert_allclose(rounded, exact, atol=1e-3 * np.abs(exact).max())


def test_an_exponential_of_a_matrix_has_the_derivative_of_its_series() -> None:
    t, h = _normal(3, 3), 1e-5
    step = (_exponential(TURNING + h * t) - _exponential(TURNING - h * t)) / (2 * h)
    moved = fd.jvp(_exponential, (TURNING,), (t,))[1]
    assert moved.dtype == complex
    np.testing.assert_allclose(moved, step, rtol=1e-7, atol=1e-8)


def test_eigenvectors_keep_their_norm_and_the_phase_of_their_largest_element() -> None:
    v, moved = fd.jvp(lambda a: linalg.eig(a)[1], (COMPLEX,), (_normal(3, 3, dtype=complex),))
    np.testing.assert_allclose(np.sum(np.conj(v) * moved, axis=0).real, 0, atol=1e-14)
    largest = np.argmax(np.abs(v), axis=0)
    np.testing.assert_allclose(moved[largest, range(3)].imag, 0, atol=1e-14)


def test_a_batch_of_complex_eigenproblems_is_that_of_each_matrix() -> None:
    def f(a: Any) -> Any:
        w, v = linalg.eig(a.astype(complex))
        return np.sum(np.abs(w) ** 3) + np.sum(np.abs(v[0]))

    x = np.stack([SPREAD, TURNING, SPREAD.T])
    np.testing.assert_allclose(fd.vmap(fd.grad(f))(x), [fd.grad(f)(a) for a in x], rtol=1e-11)


@pytest.mark.parametrize("f", [linalg.eig, linalg.eigvals])
def test_eigenvalues_of_unknown_real_matrices_ask_for_complex_ones(f: Any) -> None:
    matrices = np.stack([SPREAD, TURNING])
    if linalg.eigvals(SPREAD).dtype == complex:  # from NumPy 2.5 on they always are
        found = fd.vmap(lambda a: f(a)[0])(matrices)
        np.testing.assert_allclose(found, [f(a)[0] for a in matrices], rtol=1e-12)
        return
    with pytest.raises(ConcreteValueError, match=r"x\.astype\(complex\)"):
        fd.vmap(lambda a: f(a)[0])(matrices)


def test_what_is_not_finite_raises_as_in_numpy() -> None:
    for f in (linalg.eig, linalg.eigvals):
        with pytest.raises(linalg.LinAlgError, match="infs or NaNs"):
            _value(f, np.full((2, 2), np.nan))


# ---- general eigenproblems: equal eigenvalues ----------------------------------------------------

DEFECTIVE = np.array([[1.0, 1.0], [0.0, 1.0]])


def test_equal_eigenvalues_share_their_derivative() -> None:
    a = SPREAD @ np.diag([1.0, 1.0, 3.0]) @ linalg.inv(SPREAD)
    for values in (linalg.eigvals, lambda a: linalg.eig(a)[0]):
        y, f_vjp = fd.vjp(values, a)
        np.testing.assert_allclose(f_vjp(np.ones_like(y))[0], np.eye(3), atol=1e-12)
        np.testing.assert_allclose(f_vjp(2 * np.conj(y))[0], 2 * a.T, atol=1e-11)
    np.testing.assert_allclose(
        fd.grad(lambda a: linalg.eigvals(a)[0].real)(np.diag([1.0, 1, 3])), np.diag([0.5, 0.5, 0])
    )


@pytest.mark.parametrize("a", [np.eye(2), np.diag([1.0, 1.0, 2.0])])
def test_eigenvectors_of_equal_eigenvalues_raise_in_both_modes(a: Any) -> None:
    def f(a: Any) -> Any:
        return np.sum(linalg.eig(a)[1][:, 0]).real

    with pytest.raises(NotDifferentiableError, match="occurs more than once"):
        fd.grad(f)(a)
    with pytest.raises(NotDifferentiableError, match="occurs more than once"):
        fd.jvp(f, (a,), (np.ones_like(a),))


def test_the_vector_of_a_simple_eigenvalue_has_its_derivative_beside_equal_ones() -> None:
    a = np.diag([1.0, 1.0, 3.0]) + np.diag([0.0, 0.5], 1)
    gradient = fd.grad(lambda a: linalg.eig(a)[1][1, 2].real)(a)
    step = np.zeros((3, 3))
    step[1, 2] = 1e-6
    expected = (linalg.eig(a + step)[1] - linalg.eig(a - step)[1])[1, 2] / 2e-6
    np.testing.assert_allclose(gradient[1, 2], expected, rtol=1e-8)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_eigenvalues_of_a_matrix_without_a_basis_of_eigenvectors_raise(size: int) -> None:
    block = np.eye(size) + np.diag(np.ones(size - 1), 1)
    basis = _normal(size, size)
    for a in (block, basis @ block @ linalg.inv(basis), np.diag(np.ones(size - 1), 1)):
        for f in (lambda a: linalg.eigvals(a)[0].real, lambda a: linalg.eig(a)[0][0].real):
            with pytest.raises(NotDifferentiableError, match="no basis of eigenvectors"):
                fd.grad(f)(a)
            with pytest.raises(NotDifferentiableError, match="no basis of eigenvectors"):
                fd.jvp(f, (a,), (np.ones_like(a),))


def test_a_matrix_without_derivatives_can_be_masked_in_reverse_mode() -> None:
    x = np.stack([DEFECTIVE, SPREAD[:2, :2]])
    gradient = fd.grad(lambda x: np.sum(np.where([[False], [True]], linalg.eigvals(x), 0)).real)(x)
    np.testing.assert_allclose(gradient, [np.zeros((2, 2)), np.eye(2)], atol=1e-14)


# ---- equal eigenvalues of general matrices -------------------------------------------------------

WEIGHTS = np.arange(9.0).reshape(3, 3)


def _through_eig(weights: Any) -> Any:
    def f(a: Any) -> Any:
        w, v = linalg.eig(a)
        return np.real(np.sum((v * np.exp(w)) @ linalg.inv(v) * weights))

    return f


@pytest.mark.parametrize("a", [2 * np.eye(3), np.diag([1.0, 2.0, 2.0])])
@pytest.mark.parametrize("weights", [WEIGHTS, WEIGHTS - WEIGHTS.T, np.fliplr(np.eye(3))])
def test_functions_of_general_matrices_are_refused_at_equal_eigenvalues(
    a: Any, weights: Any
) -> None:
    f = _through_eig(weights)
    for derive in (fd.grad, fd.jacfwd, fd.jacrev):
        with pytest.raises(NotDifferentiableError):
            derive(f)(a)
    for t in (np.diag([1.0, 2.0, 4.0]), WEIGHTS):
        with pytest.raises(NotDifferentiableError):
            fd.jvp(f, (a,), (t,))


def test_equal_eigenvalues_that_are_used_alike_have_a_derivative() -> None:
    gradient = fd.grad(lambda a: np.sum(linalg.eig(a)[0]).real)(2 * np.eye(3))
    assert_allclose(gradient, np.eye(3), atol=1e-15)
