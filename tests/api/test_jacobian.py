"""`jacobian`, `jacfwd`, `jacrev` and `hessian`: arrays of derivatives in containers."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

A = np.arange(6.0).reshape(2, 3)
X = np.array([1.0, -2.0, 0.5])

BOTH = pytest.mark.parametrize("jac", [fd.jacobian, fd.jacfwd, fd.jacrev])


@BOTH
@pytest.mark.parametrize(("x_shape", "y_shape"), [
    ((), ()), ((), (2,)), ((3,), ()), ((2, 3), (3, 2)), ((0,), (2,)), ((2,), (0,)), ((1, 1), (1,)),
])  # fmt: skip
def test_the_shape_is_that_of_the_output_then_the_input(
    jac: Any, x_shape: tuple[int, ...], y_shape: tuple[int, ...]
) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) * np.ones(y_shape)

    result = jac(f)(np.ones(x_shape))
    np.testing.assert_array_equal(result, np.ones((*y_shape, *x_shape)))


@BOTH
def test_containers_of_outputs_hold_containers_of_inputs(jac: Any) -> None:
    def f(p: Any) -> Any:
        return {"product": p["a"] * p["b"], "sum": (np.sum(p["a"]),)}

    result = jac(f)({"a": X, "b": 3.0})
    np.testing.assert_array_equal(result["product"]["a"], 3 * np.eye(3))
    np.testing.assert_array_equal(result["product"]["b"], X)
    np.testing.assert_array_equal(result["sum"][0]["a"], np.ones(3))
    assert result["sum"][0]["b"] == 0


@BOTH
def test_argnums_choose_the_columns(jac: Any) -> None:
    def f(x: Any, y: Any, *, scale: float) -> Any:
        return scale * x * y

    by_x, by_y = jac(f, argnums=(0, 1))(X, 2.0, scale=10.0)
    np.testing.assert_array_equal(by_x, 20 * np.eye(3))
    np.testing.assert_array_equal(by_y, 10 * X)
    np.testing.assert_array_equal(jac(f, argnums=-1)(X, 2.0, scale=10.0), 10 * X)


@BOTH
def test_an_integer_output_is_an_error(jac: Any) -> None:
    with pytest.raises(OutputError, match="floating or complex"):
        jac(lambda x: np.argsort(x))(X)


@BOTH
def test_a_complex_argument_needs_holomorphic(jac: Any) -> None:
    with pytest.raises(InputError, match="holomorphic"):
        jac(lambda z: z * z)(X + 1j)
    result = jac(lambda z: z * z, holomorphic=True)(X + 1j)
    np.testing.assert_allclose(result, np.diag(2 * (X + 1j)), rtol=1e-15)


@BOTH
def test_a_complex_output_of_a_real_argument_is_differentiated_as_it_is(jac: Any) -> None:
    result = jac(lambda x: np.exp(1j * x))(X)
    np.testing.assert_allclose(result, np.diag(1j * np.exp(1j * X)), rtol=1e-14)


def test_the_hessian_by_two_arguments_has_blocks() -> None:
    (aa, ab), (ba, bb) = fd.hessian(lambda a, b: a**2 * b, argnums=(0, 1))(3.0, 5.0)
    assert (aa, ab, ba, bb) == (10, 6, 6, 0)


def test_the_hessian_of_a_matrix_argument_has_four_axes() -> None:
    result = fd.hessian(lambda x: np.sum(x**3))(A)
    assert result.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(result.reshape(6, 6), np.diag(6 * A.ravel()))


@BOTH
def test_a_jacobian_leaves_its_arguments_alone(jac: Any) -> None:
    x = X.copy()
    jac(lambda x: x)(x)[:] = 7
    np.testing.assert_array_equal(x, X)


# ---- modes, chunks, the value and auxiliary results --------------------------------------------

MODES = pytest.mark.parametrize("mode", ["forward", "reverse", None])


def _tree(p: Any) -> Any:
    return {"y": np.tanh(A @ p["a"]) * p["b"], "z": [np.sum(p["a"] ** 2)]}


@MODES
@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_chunks_change_nothing(mode: Any, size: int) -> None:
    p = {"a": X, "b": np.array([2.0, -1.0])}
    whole = fd.jacobian(_tree, mode=mode)(p)
    parts = fd.jacobian(_tree, mode=mode, chunk_size=size)(p)
    assert parts.keys() == whole.keys()
    for out, argument in [("y", "a"), ("y", "b")]:
        np.testing.assert_array_equal(parts[out][argument], whole[out][argument])
        np.testing.assert_array_equal(parts["z"][0][argument], whole["z"][0][argument])


@MODES
def test_a_jacobian_in_chunks_can_be_differentiated_and_batched(mode: Any) -> None:
    def f(x: Any) -> Any:
        return np.tanh(A @ x) * np.sum(x)

    chunked = fd.jacobian(f, mode=mode, chunk_size=2)
    np.testing.assert_allclose(
        fd.grad(lambda x: np.sum(chunked(x) ** 2))(X),
        fd.grad(lambda x: np.sum(fd.jacobian(f)(x) ** 2))(X),
        rtol=1e-12,
    )
    many = fd.vmap(chunked)(np.stack([X, 2 * X]))
    np.testing.assert_allclose(many[1], fd.jacobian(f)(2 * X), rtol=1e-14)
    fd.testing.check_grads(chunked, (X,), order=1)


@pytest.mark.slow
@MODES
def test_a_jacobian_in_chunks_holds_one_chunk_at_a_time(mode: Any) -> None:
    def f(x: Any) -> Any:
        rows = np.multiply.outer(x, np.ones(5000))  # 40 of them
        return np.cumsum(np.sin(rows), axis=0).sum(axis=1)

    def peak(**options: Any) -> int:
        derive = fd.jacobian(f, mode=mode, **options)
        derive(np.ones(40))
        tracemalloc.start()
        derive(np.ones(40))
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert 3 * peak(chunk_size=4) < peak()


@pytest.mark.parametrize("chunk", [None, 1, 2])
def test_the_value_comes_with_its_jacobian(chunk: int | None) -> None:
    y, J = fd.value_and_jacobian(lambda x: A @ x**2, chunk_size=chunk)(X)
    np.testing.assert_array_equal(y, A @ X**2)
    np.testing.assert_allclose(J, 2 * A * X, rtol=1e-15)
    (y, aux), J = fd.value_and_jacobian(
        lambda x: (A @ x, {"n": 3, "x": x, "name": "n"}), chunk_size=chunk, has_aux=True
    )(X)
    np.testing.assert_array_equal(y, A @ X)
    np.testing.assert_array_equal(J, A)
    np.testing.assert_array_equal(aux["x"], X)
    assert (aux["n"], aux["name"]) == (3, "n")


def test_the_value_and_the_jacobian_share_their_work() -> None:
    program = fd.trace(fd.value_and_jacobian(lambda x: np.exp(A @ x)))(X)
    assert [eq.primitive.name for eq in program.equations].count("exp") == 1


@BOTH
def test_an_auxiliary_result_may_be_of_integers_and_is_not_differentiated(jac: Any) -> None:
    result, aux = jac(lambda x: (A @ x, np.argmin(x)), has_aux=True)(X)
    np.testing.assert_array_equal(result, A)
    assert aux == 1


def test_the_cheaper_mode_is_chosen() -> None:
    def shapes(f: Any, x: Any) -> set[tuple[int, ...]]:
        equations = fd.trace(fd.jacobian(f))(x).equations
        return {v.type.shape for eq in equations for v in eq.results}

    narrow = shapes(lambda x: np.stack([np.sum(np.sin(x)), x[0]]), np.ones(50))
    wide = shapes(lambda x: np.sin(np.multiply.outer(np.ones(50), x)).sum(axis=1), np.ones(2))
    assert (50, 50) not in narrow | wide


@pytest.mark.parametrize("options", [{"mode": "backward"}, {"mode": 1}])
def test_a_mode_that_is_not_known_is_an_error(options: Any) -> None:
    with pytest.raises(InputError, match=r"mode=.*'forward', 'reverse'"):
        fd.jacobian(np.sin, **options)


@pytest.mark.parametrize("size", [0, -3, 1.5, True, "2"])
def test_a_chunk_has_a_positive_size(size: Any) -> None:
    with pytest.raises(InputError, match=r"chunk_size=.*positive int"):
        fd.jacobian(np.sin, chunk_size=size)
    with pytest.raises(InputError, match=r"chunk_size=.*positive int"):
        fd.hessian(np.sum, chunk_size=size)
