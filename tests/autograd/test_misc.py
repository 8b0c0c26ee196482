"""Vectors of containers, optimizers, and what of SciPy has autograd's own form."""

from typing import Any

import numpy as np
import pytest

import funcdiff.autograd.numpy as anp
from funcdiff.autograd import grad
from funcdiff.autograd.extend import defvjp
from funcdiff.autograd.misc import const_graph, flatten
from funcdiff.autograd.misc.optimizers import adam, rmsprop, sgd
from funcdiff.autograd.numpy import make_diagonal, numpy_wrapper
from funcdiff.autograd.scipy import signal
from funcdiff.autograd.util import quick_grad_check
from funcdiff.errors import InputError

X = np.array([0.5, -1.0, 2.0])


def test_dicts_are_flattened_by_their_keys_and_come_back_in_their_order() -> None:
    tree = {"w": np.array([[1, 2]]), "b": (3.0, [np.float32(4)]), "a": {}}
    vector, unflatten = flatten(tree)
    assert vector.tolist() == [3, 4, 1, 2]
    back = unflatten(vector)
    assert list(back) == ["w", "b", "a"]
    assert back["w"].tolist() == [[1, 2]]
    assert back["a"] == {}
    back["w"][:] = 0
    assert vector.tolist() == [3, 4, 1, 2]


def test_an_empty_container_is_an_empty_vector() -> None:
    vector, unflatten = flatten([])
    assert vector.shape == (0,)
    assert unflatten(vector) == []


def test_a_vector_of_another_length_is_refused() -> None:
    with pytest.raises(InputError, match=r"shape \(2,\), got \(3,\)"):
        flatten([1.0, 2.0])[1](np.zeros(3))


def test_flattening_is_differentiated_both_ways() -> None:
    def f(p: dict[str, Any]) -> Any:
        vector, unflatten = flatten(p)
        return unflatten(vector**2)["b"] * vector[1]

    assert grad(f)({"b": 3.0, "a": 2.0}) == {"b": 27.0, "a": 0.0}


@pytest.mark.parametrize("optimize", [sgd, rmsprop, adam])
def test_an_optimizer_takes_and_shows_containers(optimize: Any) -> None:
    seen: list[Any] = []
    start: dict[str, Any] = {"a": np.ones(2), "b": 1.0}
    found = optimize(
        grad(lambda p, _i: np.sum(p["a"] ** 2) + p["b"] ** 2), start,
        lambda x, i, g: seen.append((x["b"], i, g["a"].shape)), num_iters=3, step_size=0.1,
    )  # fmt: skip
    assert [(i, shape) for _, i, shape in seen] == [(0, (2,)), (1, (2,)), (2, (2,))]
    assert seen[0][0] == 1
    assert found["a"][0] == found["b"] < 1
    assert start["a"].tolist() == [1, 1]
    assert optimize(lambda x, _i: x, 2.0, num_iters=0) == 2


def test_steps_of_an_optimizer_are_differentiated() -> None:
    def last(rate: Any) -> Any:
        return sgd(grad(lambda x, _i: x**2), 1.0, num_iters=1, step_size=rate, mass=0.0)

    assert grad(last)(0.1) == -2


def test_a_constant_graph_takes_first_arguments_and_keywords() -> None:
    f = const_graph(lambda a, x, power: a * x**power, 2.0, power=3)
    assert (f(1.0), f(2.0)) == (2, 16)


def test_a_diagonal_keeps_what_is_not_finite_to_itself() -> None:
    assert make_diagonal(np.array([np.inf, 1.0])).tolist() == [[np.inf, 0], [0, 1]]
    with pytest.raises(NotImplementedError, match="axis1"):
        make_diagonal(np.ones(2), offset=1)


@pytest.mark.parametrize("mode", ["full", "valid", "same"])
@pytest.mark.parametrize("sizes", [(7, 4), (7, 3), (1, 1), (4, 4)])
def test_a_convolution_along_an_axis_is_numpys(mode: Any, sizes: tuple[int, int]) -> None:
    a, b = (np.sin(np.arange(n) + 1.0) for n in sizes)
    np.testing.assert_allclose(
        signal.convolve(a, b, mode=mode), np.convolve(a, b, mode), rtol=0, atol=1e-14
    )


def test_the_axes_of_a_convolution_come_last() -> None:
    y = signal.convolve(np.ones((5, 2, 3)), np.ones((3, 4, 2)), ([0], [2]), ([2], [0]), "valid")
    assert y.shape == (2, 4, 4)
    assert np.all(y == 6)


def test_a_convolution_along_no_axis_is_a_product() -> None:
    a, b = np.ones((3, 5)), np.ones((3, 4))
    y = signal.convolve(a, b, axes=([], []), dot_axes=([0], [0]))
    np.testing.assert_array_equal(y, np.full((5, 4), 3.0))


def test_wrong_convolutions_say_so() -> None:
    with pytest.raises(InputError, match="no mode 'wrap'"):
        signal.convolve(np.ones(3), np.ones(2), mode="wrap")
    with pytest.raises(InputError, match="larger along all axes"):
        signal.convolve(np.ones((3, 1)), np.ones((2, 2)), mode="valid")


def test_a_namespace_is_wrapped_into_primitives() -> None:
    made: dict[str, Any] = {}
    own = {"double": lambda x: 2.0 * np.asarray(x), "sin": np.sin, "one": 1.0, "Own": type(X)}
    numpy_wrapper.wrap_namespace({**own, "int64": np.int64, "float": float}, made)
    assert made["sin"] is np.sin
    assert made["one"] == 1
    assert "Own" not in made
    defvjp(made["double"], lambda ans, x: lambda g: 2 * g)
    assert grad(lambda x: made["double"](x) * made["int64"](x))(1.5) == 2


def test_integers_of_traced_values_have_no_derivative_and_are_numpys() -> None:
    assert grad(lambda x: np.sum(x * anp.int32(x)))(X).tolist() == [0, -1, 2]
    assert type(anp.int64(2.5)) is np.int64
    assert isinstance(np.int64(2), anp.int64)
    assert issubclass(np.int64, anp.int64)
    assert np.zeros(2, anp.int16).dtype == np.int16


def test_arrays_are_made_of_elements_and_of_arrays() -> None:
    assert numpy_wrapper.array_from_args((), {"ndmin": 2}, 1.0, 2.0).tolist() == [[1, 2]]
    assert numpy_wrapper.concatenate_args(1, X[None], X[None]).shape == (1, 6)


def test_where_of_one_operand_is_an_error() -> None:
    with pytest.raises(ValueError, match="either both or neither"):
        numpy_wrapper.where(X > 0, X)


def test_a_quick_check_is_deprecated() -> None:
    with pytest.warns(UserWarning, match="deprecated"):
        quick_grad_check(lambda x, y: x**2 + y, 1.0, (2.0,))
