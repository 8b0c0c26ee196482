"""Sparse Jacobians and Hessians: the entries of dense ones, and what is refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import NonlinearConstraint, least_squares, minimize

import funcdiff as fd
from funcdiff.api.compiling.guarded import RecompilationWarning
from funcdiff.errors import InputError, SparsityWarning, UnsupportedNumPyError

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


@given(st.lists(st.sampled_from(range(8)), max_size=6), st.integers(0, 5), st.booleans())
def test_random_moves_and_products_are_followed(steps: list[int], n: int, flip: bool) -> None:
    moves: list[Callable[[Any], Any]] = [
        lambda x: np.roll(x, 1),
        lambda x: x * x[::-1],
        lambda x: np.append(x[1:], 0.0) - x,
        lambda x: np.sin(x),
        lambda x: x + np.sum(x[:1]),
        lambda x: np.where(np.arange(len(x)) % 2 == 0, x, 0.0),
        lambda x: x[np.arange(len(x)) // 2],
        lambda x: np.concatenate([x[:2] * 2, x[2:]]),
    ]

    def f(x: Any) -> Any:
        if n == 0:
            steps[:] = [k for k in steps if k in (1, 3, 4, 5)]
        for k in steps:
            x = moves[k](x)
        return x

    x = np.linspace(0.3, 0.9, 2 * n)[:: -2 if flip else 2]
    expected = fd.jacobian(f)(x)
    assert fd.sparsity(f)(x).toarray()[expected != 0].all()
    found = fd.jacobian(f, sparse=True)(x)
    np.testing.assert_allclose(found.toarray(), expected, 1e-12, 1e-12)


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


def test_index_arrays_and_masks_are_followed_when_they_change() -> None:
    def f(x: Any, index: Any, mask: Any) -> Any:
        return np.where(mask, x[index], 0.0)

    for index, mask in (([0, 1, 2], [1, 1, 1]), ([2, 2, 0], [1, 0, 1]), ([0, 1, 2], [0, 0, 0])):
        i, m = np.array(index), np.array(mask, bool)
        found = fd.jacobian(f, sparse=True)(POINT, i, m)
        np.testing.assert_array_equal(found.toarray(), fd.jacobian(f)(POINT, i, m))
        assert found.nnz == sum(mask)


def test_index_arrays_that_are_arguments_are_followed_when_compiled() -> None:
    def f(x: Any, index: Any, mask: Any) -> Any:
        return np.where(mask, x[index] ** 2, 0.0)

    derive = fd.jit(fd.jacobian(f, sparse=True))
    indices = [np.array(i) for i in ([0, 1, 2], [2, 2, 0], [1, 3, 0], [-1, 0, 5])]
    masks = [np.array(m, bool) for m in ([1, 1, 1], [1, 0, 1], [0, 0, 0])]
    for _ in range(4):
        for index in indices:
            for mask in masks:
                found = derive(POINT, index, mask)
                dense = fd.jacobian(f)(POINT, index, mask)
                np.testing.assert_array_equal(found.toarray(), dense)
                assert found.nnz == mask.sum()
    empty = np.empty(0, int)
    assert derive(POINT, empty, empty > 0).shape == (0, 6)
    nested = fd.jit(lambda x, i: np.sum(derive(x, i, masks[0]).data ** 2))
    for index in indices:
        np.testing.assert_allclose(
            fd.grad(nested)(POINT, index), fd.grad(lambda x, i: np.sum(4 * x[i] ** 2))(POINT, index)
        )
        batch = fd.vmap(lambda x, i: fd.jacobian(f, sparse=True, format="coo")(x, i, True)[0].sum())
        assert batch(np.stack([POINT] * 2), np.stack([index] * 2)).shape == (2,)


def test_each_index_array_is_compiled_once_until_there_are_too_many() -> None:
    calls = []

    def f(x: Any, index: Any) -> Any:
        calls.append(index)
        return x[index] ** 2

    derive = fd.jit(fd.jacobian(f, sparse=True))
    indices = [np.array([a, b, c]) for a in range(3) for b in range(3) for c in range(4)]
    for k in range(60):
        found = derive(POINT, indices[k % 20])
        assert found.toarray().tolist() == fd.jacobian(f)(POINT, indices[k % 20]).tolist()
    assert len(calls) == 20 + 60
    with pytest.warns(RecompilationWarning, match="no longer compiled"):
        sizes = {derive(POINT, index).nnz for index in indices}
    assert sizes == {3}


def test_numbers_that_are_not_arguments_decide_nothing_of_a_compiled_pattern() -> None:
    derive = fd.jit(lambda x, i: fd.jacobian(lambda x: x[i + 1], sparse=True)(x))
    for i in (np.array([0, 1]), np.array([3, 2])):
        assert derive(POINT, i).toarray().tolist() == np.eye(6)[i + 1].tolist()


def test_the_values_of_other_arguments_are_no_part_of_the_pattern() -> None:
    derive = fd.jacobian(lambda x, p: p * x + x[::-1], sparse=True)
    zero = np.array(0.0)
    assert derive(POINT, zero).nnz == derive(POINT, zero + 2).nnz == 12
    assert derive(POINT * 0, zero).nnz == 12


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


# ---- patterns ------------------------------------------------------------------------------------


def test_a_pattern_says_where_and_how_many_colours() -> None:
    found = fd.sparsity(lambda x: np.diff(x))(np.zeros(5))
    assert found.rows.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.cols.tolist() == [0, 1, 1, 2, 2, 3, 3, 4]
    assert (found.shape, found.nnz, found.density) == ((4, 5), 8, 0.4)
    assert max(found.colors) == 1
    assert found.scipy().format == "csr"
    assert found == fd.sparsity(lambda x: x[1:] + x[:-1])(np.ones(5))
    assert found != fd.sparsity(lambda x: x[1:])(np.ones(5))
    assert str(found).count("\n") == 1
    assert found._repr_html_().count("h1v1") == 8
    empty = fd.sparsity(lambda x: x)(np.zeros(0))
    assert (empty.density, str(empty)) == (0.0, "<Sparsity 0 x 0, 0 places, 0.00%>")
    assert empty._repr_html_()


def test_columns_of_one_colour_share_no_row() -> None:
    rng = np.random.default_rng(3)
    for density in (0.02, 0.2):
        matrix = np.where(rng.random((40, 30)) < density, 1.0, 0.0)
        pattern = fd.sparsity(lambda x, matrix=matrix: matrix @ x)(np.zeros(30))
        assert (pattern.toarray() == matrix.astype(bool)).all()
        for color in set(pattern.colors.tolist()):
            assert matrix[:, pattern.colors == color].sum(1).max() <= 1


def test_a_pattern_may_be_given() -> None:
    band = fd.sparsity(lambda x: np.diff(x))(np.zeros(6))
    given: list[Any] = [band, band.scipy("csc"), band.toarray()]
    for pattern in given:
        found = fd.jacobian(lambda x: np.diff(x**2), sparse=True, sparsity=pattern)(POINT)
        np.testing.assert_array_equal(found.toarray(), fd.jacobian(lambda x: np.diff(x**2))(POINT))
    wide = fd.jacobian(lambda x: x**2, sparse=True, sparsity=np.ones((6, 6)), format="csc")(POINT)
    assert wide.nnz == 36
    assert wide.diagonal().tolist() == (2 * POINT).tolist()
    order = np.argsort(POINT)
    places = np.eye(6)[order]
    found = fd.jacobian(np.sort, sparse=True, sparsity=places)(POINT)
    assert found.nnz == 6
    np.testing.assert_array_equal(found.toarray(), places)
    with pytest.raises(InputError, match="lacks places in which the Jacobian is not zero"):
        fd.jacobian(np.sort, sparse=True, sparsity=places[::-1])(POINT)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: fd.hessian(rosenbrock, sparse=True, chunk_size=2), "takes no chunk_size"),
        (lambda: fd.jacobian(np.sin, format="csr"), "format= was given without sparse=True"),
        (lambda: fd.jacobian(np.sin, sparsity=np.eye(2)), "sparsity= was given without"),
        (lambda: fd.jacobian(np.sin, sparse=True, format="lil"), "'lil' is not known"),  # type: ignore[call-overload]
        (lambda: fd.jacobian(np.sin, sparse=True, sparsity=np.eye(4))(POINT), r"\(4, 4\)"),
        (
            lambda: fd.jacobian(lambda x: x * x[::-1], sparse=True, sparsity=np.eye(6))(POINT),
            "no place for row 0, column 5",
        ),
        (lambda: fd.jacobian(np.sin, sparse=True, sparsity="band")(POINT), "is no matrix"),
        (
            lambda: fd.jacobian(lambda x: (x, x), sparse=True, sparsity=np.eye(6))(POINT),
            "2 x 1 blocks",
        ),
    ],
)
def test_wrong_calls_are_refused(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ask()


def test_full_jacobians_come_with_a_warning() -> None:
    with pytest.warns(SparsityWarning, match="test_sparse.*nearly everything depends"):
        found = fd.jacobian(np.cumsum, sparse=True)(np.zeros(150))
    assert (found.toarray() == np.tril(np.ones((150, 150)))).all()


# ---- solvers -------------------------------------------------------------------------------------


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
