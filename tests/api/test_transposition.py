"""`linear_transpose`: linear functions turned around."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError

A = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 3.0]])
V = np.array([2.0, -1.0])
ORIGIN = np.zeros(3)


def test_the_transpose_of_a_matrix_product_is_the_product_with_the_transpose() -> None:
    transposed = fd.linear_transpose(lambda x: A @ x, ORIGIN)
    (result,) = transposed(V)
    np.testing.assert_allclose(result, A.T @ V, rtol=1e-15)


def test_it_does_not_conjugate() -> None:
    B = A + 2j
    (result,) = fd.linear_transpose(lambda z: B @ z, ORIGIN + 0j)(V + 1j)
    np.testing.assert_allclose(result, B.T @ (V + 1j), rtol=1e-15)


def test_several_arguments_and_containers_are_linear_together() -> None:
    def f(p: Any, q: Any) -> Any:
        return {"y": A @ p["x"] + q, "z": 2 * q}

    pulled, q = fd.linear_transpose(f, {"x": ORIGIN}, np.zeros(2))({"y": V, "z": np.ones(2)})
    np.testing.assert_allclose(pulled["x"], A.T @ V)
    np.testing.assert_allclose(q, V + 2)


def test_it_may_be_linear_in_some_arguments_only() -> None:
    def f(x: Any, w: Any, *, scale: Any) -> Any:
        return scale * x * w

    transposed = fd.linear_transpose(f, ORIGIN, np.arange(3.0), argnums=0, scale=2.0)
    np.testing.assert_allclose(transposed(np.ones(3))[0], [0, 2, 4])
    by_name = fd.linear_transpose(f, ORIGIN + 1, np.arange(3.0), argnames="scale", scale=0.0)
    np.testing.assert_allclose(by_name(np.ones(3))[0], 3)


def test_the_transpose_of_a_linearized_function_is_its_pullback() -> None:
    x = np.array([0.3, -1.2, 2.0])
    _, f_jvp = fd.linearize(lambda x: np.tanh(A @ x), x)
    (expected,) = fd.vjp(lambda x: np.tanh(A @ x), x)[1](V)
    np.testing.assert_allclose(fd.linear_transpose(f_jvp, x)(V)[0], expected, rtol=1e-14)


def test_it_is_differentiable_in_what_the_function_closes_over() -> None:
    def f(w: Any) -> Any:
        return np.sum(fd.linear_transpose(lambda x: w**2 * x, ORIGIN)(np.ones(3))[0])

    assert fd.grad(f)(5.0) == 30
    rows = fd.vmap(fd.linear_transpose(lambda x: A @ x, ORIGIN))(np.eye(2))
    np.testing.assert_array_equal(rows[0], A)


@pytest.mark.parametrize("length", [0, 1, 3])
@pytest.mark.parametrize("reverse", [False, True])
def test_loops_are_transposed_around_what_they_carry_of_known_values(
    length: int, reverse: bool
) -> None:
    def f(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            angle, total = carry
            after = angle + 1.0, total * np.sin(angle) + row
            return after, (total * angle, np.cos(angle))

        (_, last), (ys, _) = fd.scan(step, (0.5, 0.0), x, reverse=reverse)
        return ys, last

    x, ct = np.arange(float(length)), np.cos(np.arange(float(length)))
    (found,) = fd.linear_transpose(f, x)((ct, 2.0))
    ys, last = fd.jacobian(f)(x)
    np.testing.assert_allclose(found, ys.T @ ct + 2.0 * last)


def test_a_loop_that_ends_by_its_argument_is_not_linear() -> None:
    def count(x: Any) -> Any:
        return fd.while_loop(lambda n: n < x, lambda n: n + 1.0, 0.0)

    assert not fd.is_linear(count)(2.5)
    with pytest.raises(InputError, match="is none"):
        fd.linear_transpose(count, 2.5)


def test_a_cotangent_has_to_be_like_the_result() -> None:
    transposed = fd.linear_transpose(lambda x: A @ x, ORIGIN)
    with pytest.raises(CotangentError, match=r"\(3,\).*\(2,\)"):
        transposed(ORIGIN)
    with pytest.raises(InputError, match="int64"):
        fd.linear_transpose(lambda x: A @ x, np.zeros(3, int))


def test_linear_functions_with_rules_of_their_own_are_transposed_by_them() -> None:
    product = fd.primitive(lambda x: np.array((A @ x).tolist()), result=lambda _x: np.empty(2))
    product.defvjp(lambda x: (product(x), None), lambda _, ct: (A.T @ ct,))
    (result,) = fd.linear_transpose(product, ORIGIN)(V)
    np.testing.assert_allclose(result, A.T @ V, rtol=1e-15)
    twice = fd.custom_jvp(lambda x: 2 * x)
    twice.defjvp(lambda primals, tangents: (twice(*primals), 2 * tangents[0]))
    (result,) = fd.linear_transpose(lambda x: A @ twice(x), ORIGIN)(V)
    np.testing.assert_allclose(result, 2 * A.T @ V, rtol=1e-15)
