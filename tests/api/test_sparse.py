"""Sparse Jacobians and Hessians: the entries of dense ones, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import solve_ivp
from scipy.optimize import NonlinearConstraint, least_squares, minimize

import funcdiff as fd
from funcdiff.api.derivatives import sparse_jacobians
from funcdiff.errors import SparsityWarning, UnsupportedNumPyError
from tests.together import together

MATRIX = np.array([[1.0, 0, 2, 0, 0, 0], [0, 0, 3, 0, 0, 0], [4, 5, 0, 0, 0, 0]])
INDICES = np.array([2, 0, -1, 1])
MASK = np.array([True, False, True, True, False, False])


def in_place(x: Any) -> Any:
    y = np.copy(x)
    y[1:3] = x[:2] * x[3]
    y[::2] += x[1::2]
    return y


def with_rule() -> Callable[..., Any]:
    @fd.custom_jvp
    def f(x: Any) -> Any:
        return np.sin(x)

    f.defjvp(lambda primals, tangents: (np.sin(primals[0]), 2 * tangents[0]))
    return lambda x: f(x) * x[::-1]


def with_pullback() -> Callable[..., Any]:
    @fd.custom_vjp
    def f(x: Any) -> Any:
        return np.sin(x)

    f.defvjp(lambda x: (np.sin(x), x), lambda x, ct: (ct * np.cos(x),))
    return lambda x: np.roll(f(x), 1)


def equilibrium(x: Any) -> Any:
    return fd.fixed_point(lambda z, x: 0.3 * np.sin(z) + x, np.zeros(6), x)


def solutions(x: Any) -> Any:
    return np.linalg.solve(np.ones((3, 2, 2)) + np.eye(2), x.reshape(3, 2, 1))


PROGRAMS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x: np.exp(x) * x,
    "differences": lambda x: np.diff(x, 2) / x[1:-1],
    "rolled": lambda x: np.roll(x, 2) * x,
    "matrix": lambda x: MATRIX @ x,
    "matrix of squares": lambda x: MATRIX @ x**2 + np.sum(x**3),
    "gathered": lambda x: x[INDICES] * x[:4],
    "masked": lambda x: x[MASK] ** 2,
    "chosen by constants": lambda x: np.where(MASK, x, 2 * x[::-1]),
    "chosen by values": lambda x: np.where(x > 0, x[::-1], x**2),
    "infinite beside a mask": lambda x: np.where(x > 0, np.sqrt(np.maximum(x, 0)), 0.0),
    "sums": lambda x: np.stack([np.sum(x * x), x[0], np.sum(x[2:])]),
    "norm": lambda x: x[:3] / np.sqrt(np.sum(x[:3] ** 2)),
    "padded": lambda x: np.pad(x, 2, mode="reflect") * 3,
    "convolved": lambda x: np.convolve(x, np.array([1.0, 0.0, -2.0])),
    "sorted": lambda x: np.sort(x),
    "solved": lambda x: np.linalg.solve(np.eye(3) + MATRIX[:, :3], x[:3]),
    "stacked solutions": solutions,
    "outer": lambda x: np.outer(x[:2], x[2:]),
    "contracted": lambda x: np.einsum("ij,jk->ik", x.reshape(3, 2), x.reshape(2, 3)),
    "transformed": lambda x: np.fft.rfft(x),
    "summed up": lambda x: np.cumsum(x),
    "scanned": lambda x: fd.scan(lambda c, y: (c[::-1] * y, c + y), x[:2], x[2:])[1],
    "looped": lambda x: np.stack([x[i] * x[i - 1] for i in range(6)]),
    "branched": lambda x: fd.cond(x[0] > 0, lambda x: 2 * x, lambda x: x[::-1] ** 2, x),
    "checkpointed": lambda x: fd.checkpoint(lambda x: np.roll(np.sin(x), 2) * x)(x),
    "changed in place": in_place,
    "rule": with_rule(),
    "pullback": with_pullback(),
    "implicit": equilibrium,
    "constant": lambda x: np.arange(3.0),
    "nothing": lambda x: x[:0],
    "one": lambda x: x[:1] ** 2,
}  # fmt: skip
POINT = np.array([0.5, -1.2, 2.0, 0.3, 1.7, -0.4])


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_entries_are_those_of_the_dense_jacobian(name: str) -> None:
    f = PROGRAMS[name]
    for x in (POINT, POINT.astype(np.float32), np.repeat(POINT, 2)[::-2]):
        dense = fd.jacobian(f)(x)
        flat = dense.reshape(-1, 6)
        pattern = fd.sparsity(f)(x)
        assert pattern.toarray()[flat != 0].all()
        for form in ("csr", "csc"):
            found = fd.jacobian(f, sparse=True, format=form)(x)
            assert found.format == form
            assert found.dtype == f(x).dtype
            assert found.has_sorted_indices
            assert found.nnz == pattern.nnz
            np.testing.assert_allclose(found.toarray(), flat, 1e-5, 1e-6)
        data, places = fd.jacobian(f, sparse=True, format="coo")(x)
        again = sp.coo_array((data, places), shape=flat.shape).toarray()
        np.testing.assert_allclose(again, flat, 1e-5, 1e-6)


@pytest.mark.slow
@together
@pytest.mark.parametrize("name", PROGRAMS)
def test_entries_followed_from_the_outputs_are_those_of_the_dense_jacobian(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    more_each_time = count(10**18)
    monkeypatch.setattr(sparse_jacobians, "_work", lambda plan: next(more_each_time))
    fd.clear_caches()
    f = PROGRAMS[name]
    found = fd.jacobian(f, sparse=True)(POINT)
    assert found.nnz == fd.sparsity(f)(POINT).nnz
    flat = fd.jacobian(f)(POINT).reshape(-1, 6)
    np.testing.assert_allclose(found.toarray(), flat, 1e-12, 1e-12)


def test_what_depends_on_many_inputs_is_followed_from_few_outputs() -> None:
    def f(x: Any) -> Any:
        y = x.reshape(10, 8)
        for _ in range(4):
            y = np.sin(y) * np.mean(y * y + 1.0, 1)[:, None]
        return np.sum(y, 1)

    x = np.linspace(-1.0, 1.0, 80)
    program = fd.trace(lambda x: fd.jacobian(f, sparse=True, format="coo")(x)[0])(x)
    assert max(v.type.size for eq in program.equations for v in eq.results) <= 2 * 80
    dense = fd.jacobian(f)(x)
    np.testing.assert_allclose(fd.jacobian(f, sparse=True)(x).toarray(), dense, 0, 1e-12)


def test_sums_over_many_paths_have_as_many_coefficients_as_entries() -> None:
    def f(x: Any) -> Any:
        y = x.reshape(20, 3)
        for _ in range(5):
            y = y * np.sum(y * y, 1)[:, None] + np.cross(y, y[:, [1, 2, 0]])
        return y / np.sqrt(np.sum(y * y, 1))[:, None]

    x = np.linspace(-1.0, 1.0, 60)
    program = fd.trace(lambda x: fd.jacobian(f, sparse=True, format="coo")(x)[0])(x)
    sizes = [v.type.size for eq in program.equations for v in eq.results]
    assert max(sizes) <= 8 * 180
    found = fd.jacobian(f, sparse=True)(x)
    assert found.nnz == 180
    np.testing.assert_allclose(found.toarray(), fd.jacobian(f)(x).reshape(60, 60), 0, 1e-11)


@pytest.mark.parametrize("density", [0.02, 1.0])
def test_products_of_many_pairs_have_all_entries(density: float) -> None:
    rng = np.random.default_rng(0)
    A = np.where(rng.random((130, 110)) < density, rng.normal(size=(130, 110)), 0.0)
    B = rng.normal(size=(60, 3, 3))
    x = np.linspace(0.1, 1.0, 110)
    for f in (lambda x: np.tanh(A @ x), lambda x: np.einsum("kij,j->ki", B, x[:3] * x[-3:])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SparsityWarning)
            found = fd.jacobian(f, sparse=True)(x)
        dense = fd.jacobian(f)(x).reshape(-1, 110)
        assert found.nnz == fd.sparsity(f)(x).nnz == np.count_nonzero(dense)
        np.testing.assert_allclose(found.toarray(), dense, 1e-12)


@pytest.mark.parametrize("name", ["rolled", "convolved", "chosen by values", "scanned"])
def test_every_call_of_a_compiled_jacobian_is_that_of_the_first(name: str) -> None:
    f = PROGRAMS[name]
    derive = fd.jacobian(f, sparse=True)
    compiled = fd.jit(derive)
    for k in range(10):
        x = POINT * (-1) ** k + k
        expected = fd.jacobian(f)(x).reshape(-1, 6)
        np.testing.assert_allclose(derive(x).toarray(), expected, 1e-9, 1e-12)
        np.testing.assert_allclose(compiled(x).toarray(), expected, 1e-9, 1e-12)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def test_hessians_are_sparse_with_value_and_gradient() -> None:
    x = np.linspace(-1, 1, 7)
    value, g, H = fd.value_grad_and_hessian(rosenbrock, sparse=True)(x)
    assert value == rosenbrock(x)
    np.testing.assert_allclose(g, fd.grad(rosenbrock)(x))
    assert H.nnz == 19
    np.testing.assert_allclose(H.toarray(), fd.hessian(rosenbrock)(x), 1e-12)
    np.testing.assert_allclose(fd.hessian(rosenbrock, sparse=True)(x).toarray(), H.toarray())
    for n in (0, 1, 2):
        found = fd.hessian(rosenbrock, sparse=True)(x[:n])
        np.testing.assert_allclose(found.toarray(), fd.hessian(rosenbrock)(x[:n]))


def test_values_and_auxiliary_results_come_beside() -> None:
    def f(x: Any) -> Any:
        return x**2, {"sum": np.sum(x)}

    (y, aux), J = fd.value_and_jacobian(f, has_aux=True, sparse=True)(POINT)
    assert y.tolist() == (POINT**2).tolist()
    assert aux["sum"] == np.sum(POINT)
    assert J.diagonal().tolist() == (2 * POINT).tolist()


def test_containers_give_blocks() -> None:
    def f(p: Any, scale: float) -> Any:
        return {"u": p["a"] * p["b"] * scale, "v": p["a"][:2]}

    p: dict[str, Any] = {"a": np.ones((2, 1)), "b": np.arange(2.0), "c": 3.0}
    found, dense = fd.jacobian(f, sparse=True)(p, 2.0), fd.jacobian(f)(p, 2.0)
    for k in ("u", "v"):
        for j in ("a", "b", "c"):
            size = 4 if k == "u" else 2
            assert found[k][j].shape == (size, np.size(p[j]))
            np.testing.assert_array_equal(found[k][j].toarray(), dense[k][j].reshape(size, -1))
    first, second = fd.jacobian(lambda x, y: x * y, (0, 1), sparse=True)(POINT, 2.0)
    assert first.toarray().tolist() == np.diag(np.full(6, 2.0)).tolist()
    assert second.toarray().tolist() == POINT[:, None].tolist()


def test_numbers_are_matrices_of_one_row_or_column() -> None:
    assert fd.jacobian(lambda x: x**2, sparse=True)(3.0).toarray().tolist() == [[6.0]]
    assert fd.jacobian(lambda x: np.sum(x**2), sparse=True)(np.ones(2)).shape == (1, 2)


def test_complex_functions_have_complex_entries() -> None:
    z = POINT[:3] + 1j * POINT[3:]
    found = fd.jacobian(lambda z: z**2 * z[::-1], holomorphic=True, sparse=True)(z)
    dense = fd.jacobian(lambda z: z**2 * z[::-1], holomorphic=True)(z)
    np.testing.assert_allclose(found.toarray(), dense)
    of_reals = fd.jacobian(lambda x: np.exp(1j * x), sparse=True)(POINT)
    np.testing.assert_allclose(of_reals.diagonal(), 1j * np.exp(1j * POINT))


def test_only_the_zeros_of_a_matrix_count_not_its_other_elements() -> None:
    weights = np.array([[0.3, 0.0, 2.0], [0.0, 0.3, 2.0]])

    @fd.checkpoint
    def f(x: Any, w: Any) -> Any:
        return np.where(w > 0.5, x[:3], np.sin(x[3:])) @ w.T

    found = fd.jacobian(f, sparse=True)(POINT, weights)
    np.testing.assert_allclose(found.toarray(), fd.jacobian(f)(POINT, weights).reshape(4, 6))


def test_rows_of_several_results_are_pulled_together() -> None:
    def f(x: Any) -> Any:
        return {"last": np.cumsum(x)[-1:], "least": np.sort(x * x)[:2], "one": x[:1]}

    found, dense = fd.jacobian(f, sparse=True)(POINT), fd.jacobian(f)(POINT)
    for name, J in found.items():
        np.testing.assert_allclose(J.toarray(), dense[name])


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mode_says_how_and_changes_nothing(name: str) -> None:
    f = PROGRAMS[name]
    expected = fd.jacobian(f)(POINT).reshape(-1, 6)
    pattern = fd.sparsity(f)(POINT)
    for derive in (fd.jacfwd, fd.jacrev):
        found = derive(f, sparse=True, format="csc")(POINT)
        np.testing.assert_allclose(found.toarray(), expected, 1e-9, 1e-12)
        found = derive(f, sparse=True, sparsity=pattern)(POINT)
        np.testing.assert_allclose(found.toarray(), expected, 1e-9, 1e-12)


def test_jacobians_are_differentiated_and_batched() -> None:
    def total(x: Any) -> Any:
        return np.sum(fd.jacobian(lambda x: x**3, sparse=True)(x).data)

    np.testing.assert_allclose(fd.grad(total)(POINT), 6 * POINT)
    batch = np.stack([POINT, 2 * POINT])
    data, _ = fd.vmap(fd.jacobian(lambda x: x**3, sparse=True, format="coo"))(batch)
    np.testing.assert_allclose(data, 3 * batch**2)
    with pytest.raises(UnsupportedNumPyError, match=r'stack of 2 sparse .*format="coo"'):
        fd.vmap(fd.jacobian(lambda x: x**3, sparse=True))(batch)


def test_a_sparse_jacobian_can_be_pickled() -> None:
    derive = pickle.loads(pickle.dumps(fd.hessian(rosenbrock, sparse=True, format="csc")))
    assert derive(POINT).format == "csc"


# ---- solvers -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_scipys_solvers_take_sparse_derivatives() -> None:
    n = 30

    def heat(t: float, y: Any) -> Any:
        return (np.roll(y, 1) - 2 * y + np.roll(y, -1)) * n - y**3

    start = np.sin(np.arange(n))
    jac = fd.jacobian(heat, 1, sparse=True, format="csc")
    exact = solve_ivp(heat, (0, 1), start, "Radau", rtol=1e-8, jac=fd.jacobian(heat, 1))
    found = solve_ivp(heat, (0, 1), start, "Radau", rtol=1e-8, jac=jac)
    np.testing.assert_allclose(found.y[:, -1], exact.y[:, -1], 1e-8, 1e-10)

    def broyden(x: Any) -> Any:
        inside = (3 - 2 * x) * x + 1
        return inside - np.append(0.0, x[:-1]) - 2 * np.append(x[1:], 0.0)

    solution = least_squares(broyden, -np.ones(n), fd.jacobian(broyden, sparse=True))
    assert solution.cost < 1e-16

    constraint = NonlinearConstraint(
        lambda x: np.diff(x), 0.1, np.inf, jac=fd.jacobian(lambda x: np.diff(x), sparse=True),
        hess=lambda x, v: sp.csr_array((4, 4)),
    )  # fmt: skip
    best = minimize(
        rosenbrock, np.arange(4.0), method="trust-constr", jac=fd.grad(rosenbrock),
        hess=fd.hessian(rosenbrock, sparse=True), constraints=[constraint],
    )  # fmt: skip
    assert np.diff(best.x).min() > 0.0999


def test_a_matrix_is_the_callers_own() -> None:
    derive = fd.jacobian(lambda x: np.diff(x), sparse=True)
    for call in (derive, fd.jit(derive)):
        for _ in range(3):
            found = call(POINT)
            assert found.data.tolist() == [-1.0, 1.0] * 5
            found.data[:] = 7.0


OPERANDS: dict[str, Callable[[Any], Any]] = {
    "real": lambda x: x,
    "complex": lambda x: x * (1.0 + 2.0j),
    "of two parts": lambda x: x + 1j * x[::-1],
}


@pytest.mark.parametrize("operand", OPERANDS)
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_transforms_of_one_number_have_sparse_jacobians(name: str, operand: str) -> None:
    kind = "real" if name in ("rfft", "ihfft") else operand

    def f(x: Any) -> Any:
        return np.real(getattr(np.fft, name)(OPERANDS[kind](x), 1))

    found = fd.jacobian(f, sparse=True)(POINT)
    np.testing.assert_allclose(found.toarray(), fd.jacobian(f)(POINT))


def test_a_convolution_without_examples_has_a_sparse_jacobian() -> None:
    def f(x: Any) -> Any:
        return fd.vmap(lambda row: np.convolve(row, np.ones(2)))(x)

    assert fd.jacobian(f, sparse=True)(np.ones((0, 3))).shape == (0, 0)
