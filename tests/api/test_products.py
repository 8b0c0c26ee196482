"""`vjp`, `jvp`, `linearize` and `hvp`: products with the Jacobian and the Hessian."""

from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import CotangentError, InputError, OutputError

vjp: Any = fd.vjp  # types refuse some of what is tried here

X = np.array([0.3, -1.2, 2.0])
T = np.array([1.0, 0.5, -2.0])


def _f(x: Any) -> Any:
    return np.stack([np.sin(x[0]) * x[1], x[1] * x[2] ** 2])


def _jacobian(x: Any) -> Any:
    return np.array(
        [
            [np.cos(x[0]) * x[1], np.sin(x[0]), 0],
            [0, x[2] ** 2, 2 * x[1] * x[2]],
        ]
    )


def test_jvp_is_the_jacobian_times_the_tangent() -> None:
    y, t = fd.jvp(_f, (X,), (T,))
    np.testing.assert_array_equal(y, _f(X))
    np.testing.assert_allclose(t, _jacobian(X) @ T, rtol=1e-14)


def test_vjp_is_the_transposed_jacobian_times_the_cotangent() -> None:
    y, f_vjp = vjp(_f, X)
    np.testing.assert_array_equal(y, _f(X))
    v = np.array([2.0, -1.0])
    np.testing.assert_allclose(f_vjp(v)[0], v @ _jacobian(X), rtol=1e-14)


def test_linearize_is_jvp_at_a_fixed_point() -> None:
    y, f_jvp = fd.linearize(_f, X)
    np.testing.assert_array_equal(y, _f(X))
    for t in (T, -T, np.eye(3)[1]):
        np.testing.assert_allclose(f_jvp(t), _jacobian(X) @ t, rtol=1e-14)


def test_hvp_is_the_hessian_times_the_vector() -> None:
    def f(x: Any) -> Any:
        return np.sum(x**3) + x[0] * x[2]

    expected = (np.diag(6 * X) + np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])) @ T
    np.testing.assert_allclose(fd.hvp(f, (X,), (T,)), expected, rtol=1e-14)


def test_hvp_of_several_arguments_mixes_them() -> None:
    a, b = fd.hvp(lambda a, b: a**2 * b, (3.0, 5.0), (1.0, 2.0))
    assert a == 2 * 5 * 1 + 2 * 3 * 2
    assert b == 2 * 3 * 1


def test_several_primals_are_summed_forward_and_listed_backward() -> None:
    def f(a: Any, b: Any) -> Any:
        return a * b

    y, t = fd.jvp(f, (2.0, 3.0), (10.0, 1.0))
    assert (y, t) == (6, 32)
    assert vjp(f, 2.0, 3.0)[1](1.0) == (3, 2)
    assert fd.linearize(f, 2.0, 3.0)[1](10.0, 1.0) == 32


def test_containers_go_in_and_out() -> None:
    def f(p: Any) -> Any:
        return {"y": p["a"] * p["b"][0], "z": (p["b"][1],)}

    p = {"a": 2.0, "b": [3.0, 4.0]}
    y, t = fd.jvp(f, (p,), ({"a": 1.0, "b": [0.0, 5.0]},))
    assert y == {"y": 6, "z": (4,)}
    assert t == {"y": 3, "z": (5,)}
    (ct,) = vjp(f, p)[1]({"y": 1.0, "z": (7.0,)})
    assert ct == {"a": 3, "b": [2, 7]}
    _, f_jvp = fd.linearize(f, p)
    assert f_jvp({"a": 1.0, "b": [0.0, 5.0]}) == t


def test_jvp_and_vjp_return_the_auxiliary_result_third() -> None:
    def f(x: Any) -> Any:
        return x**2, ("half", x / 2)

    y, t, aux = fd.jvp(f, (3.0,), (1.0,), has_aux=True)
    assert (y, t, aux) == (9, 6, ("half", 1.5))
    y, f_vjp, aux = vjp(f, 3.0, has_aux=True)
    assert (y, f_vjp(1.0), aux) == (9, (6,), ("half", 1.5))


def test_leaves_that_are_not_numbers_pass_through() -> None:
    def f(p: Any) -> Any:
        return {"y": p["x"] * 2, "name": p["name"]}

    p = {"x": 3.0, "name": "n"}
    y, t = fd.jvp(f, (p,), ({"x": 1.0, "name": "n"},))
    assert y == {"y": 6, "name": "n"}
    assert t["y"] == 2
    (ct,) = vjp(f, p)[1]({"y": 1.0, "name": "n"})
    assert ct["x"] == 2


def test_integer_outputs_take_part_without_a_derivative() -> None:
    def f(x: Any) -> Any:
        return x[0] * x[1], np.argmax(x)

    (y, k), f_vjp = vjp(f, X)
    assert k == 2
    assert y == X[0] * X[1]
    np.testing.assert_array_equal(f_vjp((1.0, 0))[0], [X[1], X[0], 0])


# ---- what does not fit -----------------------------------------------------------------------


def test_a_tangent_of_a_wrong_shape_names_both_shapes() -> None:
    with pytest.raises(CotangentError, match=r"\(2,\).*\(3,\)"):
        fd.jvp(_f, (X,), (np.ones(2),))
    _, f_jvp = fd.linearize(_f, X)
    with pytest.raises(CotangentError, match=r"\(2,\).*\(3,\)"):
        f_jvp(np.ones(2))


def test_an_integer_tangent_is_an_error() -> None:
    with pytest.raises(CotangentError, match="float"):
        fd.jvp(_f, (X,), (np.array([1, 0, 0]),))


def test_a_tangent_of_a_wrong_structure_is_an_error() -> None:
    with pytest.raises(CotangentError, match="structure"):
        fd.jvp(lambda p: p[0], ([1.0, 2.0],), ([1.0],))


def test_primals_and_tangents_are_tuples_of_one_length() -> None:
    bare: Any = X
    with pytest.raises(InputError, match=r"fd\.jvp\(f, \(x,\), \(t,\)\)"):
        fd.jvp(_f, bare, bare)
    with pytest.raises(InputError, match="differentiated arguments is 1, but 2 tangents"):
        fd.jvp(_f, (X,), (T, T))  # type: ignore[arg-type]
    f_jvp: Any = fd.linearize(_f, X)[1]
    with pytest.raises(InputError):
        f_jvp(T, T)


def test_an_integer_primal_is_an_error_with_its_place() -> None:
    with pytest.raises(InputError, match=r"argument b .*int64"):
        fd.jvp(lambda a, b: a, (1.0, np.arange(2)), (1.0, np.arange(2)))
    with pytest.raises(InputError, match=r"argument b .*int64"):
        vjp(lambda a, b: a, 1.0, np.arange(2))


def test_hvp_needs_a_scalar() -> None:
    with pytest.raises(OutputError, match="real scalar"):
        fd.hvp(lambda x: x, (X,), (T,))  # type: ignore[arg-type, return-value]


# ---- results belong to the caller ------------------------------------------------------------


def test_a_linearized_function_does_not_change_with_its_point() -> None:
    x = X.copy()
    y, f_jvp = fd.linearize(lambda x: np.exp(x) * x, x)
    expected = f_jvp(T)
    x[:], y[:] = 0, 0
    np.testing.assert_array_equal(f_jvp(T), expected)


def test_the_tangent_of_an_identity_is_a_copy() -> None:
    t = T.copy()
    _, pushed = fd.jvp(lambda x: x, (X,), (t,))
    assert not np.shares_memory(pushed, t)
    assert not np.shares_memory(fd.linearize(lambda x: x, X)[1](t), t)


def test_a_number_for_what_is_no_number_is_refused() -> None:
    _, pull = fd.vjp(lambda x: (x * 2.0, "name"), 3.0)
    assert pull((1.0, "name")) == (2.0,)
    with pytest.raises(CotangentError, match=r"the cotangent\[1\] is a number"):
        pull((1.0, 1.0))
    _, pull = fd.vjp(lambda x: lambda y: x * y, 2.0)
    with pytest.raises(CotangentError, match="is a number"):
        pull(1.0)
