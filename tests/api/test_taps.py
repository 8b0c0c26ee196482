"""`tap`: the identity for all but those who ask for names."""

from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

import funcdiff as fd
from funcdiff.errors import InputError, OutputError

RANDOM = np.random.default_rng(12)
W, X = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=3)


def _network(w: Any, x: Any) -> Any:
    for k in range(3):
        x = fd.tap(f"layer{k}", np.tanh(w @ x))
    return np.sum(x**2) * x[0]


def _from_layer(w: Any, x: Any, k: int) -> Any:
    for _ in range(k + 1, 3):
        x = np.tanh(w @ x)
    return np.sum(x**2) * x[0]


# ---- the identity ----------------------------------------------------------------------------


def test_a_tap_returns_what_it_was_given() -> None:
    tree = {"a": X, "b": (1, "text", None)}
    assert fd.tap("tree", tree) is tree
    assert_type(fd.tap("x", X), NDArray[np.float64])


def test_a_tap_costs_nothing_where_nobody_asks() -> None:
    def plain(x: Any) -> Any:
        return np.sqrt(x**2)

    tapped = fd.grad(lambda x: np.sqrt(fd.tap("square", x**2)))
    assert tapped(0.0) == fd.grad(plain)(0.0) == 0.0
    assert fd.tap_values(lambda x: fd.vmap(tapped)(x), names=())(X) == {}


def test_a_trace_shows_the_names() -> None:
    assert "tap{name='layer1', leaf=0}" in str(fd.trace(_network)(W, X))


def test_writing_to_what_a_tap_returned_writes_to_what_it_was_given() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        z = fd.tap("z", y)
        z += 1.0
        return np.sum(y * z)

    assert f(X) == fd.vmap(f)(X[None])[0]
    assert fd.tap_grads(f)(X)["z"] == pytest.approx(2 * (2 * X + 1))


# ---- values ----------------------------------------------------------------------------------


def test_the_values_are_those_in_the_middle() -> None:
    found = fd.tap_values(_network)(W, X)
    first = np.tanh(W @ X)
    assert list(found) == ["layer0", "layer1", "layer2"]
    np.testing.assert_array_equal(found["layer0"], first)
    np.testing.assert_array_equal(found["layer1"], np.tanh(W @ first))


def test_names_are_chosen_and_containers_come_back() -> None:
    def f(x: Any) -> Any:
        named = fd.tap("named", {"double": 2 * x, "text": "text", "count": len(x), "none": None})
        return fd.tap("out", named["double"][0])

    found = fd.tap_values(f, names="named")(X)
    assert list(found) == ["named"]
    assert {**found["named"], "double": 0} == {
        "double": 0, "text": "text", "count": 3, "none": None
    }  # fmt: skip
    np.testing.assert_array_equal(found["named"]["double"], 2 * X)
    assert list(fd.tap_values(f, names=("out", "named"))(X)) == ["named", "out"]


def test_a_value_whose_tap_is_not_used_has_a_value_still() -> None:
    def f(x: Any) -> Any:
        fd.tap("square", x**2)
        return np.sum(x)

    np.testing.assert_array_equal(fd.tap_values(f)(X)["square"], X**2)


def test_values_under_transforms_are_those_of_the_transformed_program() -> None:
    xs = RANDOM.normal(size=(4, 3))
    batched = fd.tap_values(fd.vmap(_network, in_axes=(None, 0)), names="layer1")(W, xs)
    np.testing.assert_allclose(
        batched["layer1"], [fd.tap_values(_network)(W, x)["layer1"] for x in xs], rtol=1e-14
    )
    plain = fd.tap_values(_network)(W, X)
    for transformed in (fd.value_and_grad(_network), fd.hessian(_network), fd.jacfwd(_network)):
        found = fd.tap_values(transformed, names=("layer0", "layer1"))(W, X)
        np.testing.assert_array_equal(found["layer0"], plain["layer0"])
        np.testing.assert_array_equal(found["layer1"], plain["layer1"])


def test_values_may_be_differentiated_and_batched() -> None:
    def of_values(x: Any) -> Any:
        return np.sum(fd.tap_values(_network)(W, x)["layer1"] ** 2)

    expected = fd.grad(lambda x: np.sum(np.tanh(W @ np.tanh(W @ x)) ** 2))
    np.testing.assert_allclose(fd.grad(of_values)(X), expected(X), rtol=1e-13)
    np.testing.assert_allclose(fd.vmap(fd.grad(of_values))(X[None])[0], expected(X), rtol=1e-13)


def test_plain_python_goes_on_while_values_are_asked_for() -> None:
    def f(x: Any) -> Any:
        y = fd.tap("y", x * 2)
        return float(y) if y > 0 else y

    assert fd.tap_values(f)(3.0) == {"y": 6.0}


# ---- gradients -------------------------------------------------------------------------------


def test_the_gradients_are_those_of_the_rest_of_the_function() -> None:
    values, found = fd.tap_values(_network)(W, X), fd.tap_grads(_network)(W, X)
    for k in range(3):
        expected = fd.grad(_from_layer, 1)(W, values[f"layer{k}"], k)
        np.testing.assert_allclose(found[f"layer{k}"], expected, rtol=1e-13)


def test_gradients_have_types_and_containers_of_the_values() -> None:
    def f(x: Any) -> Any:
        p = fd.tap("p", {"w": x.astype(np.float32), "tag": "tag", "b": x[0], "z": x * 1j})
        return np.sum(p["w"]) * 2 + p["b"] + np.sum(np.abs(p["z"]) ** 2)

    found = fd.tap_grads(f)(X)["p"]
    assert (found["w"].dtype, found["tag"], found["b"]) == (np.float32, "tag", 1.0)
    np.testing.assert_allclose(found["z"], 2j * X)


def test_a_tapped_argument_or_constant_has_a_gradient() -> None:
    def f(x: Any) -> Any:
        return np.sum(fd.tap("x", x) * fd.tap("weights", W[0]) * x)

    found = fd.tap_grads(f)(X)
    np.testing.assert_allclose(found["x"], W[0] * X)
    np.testing.assert_allclose(found["weights"], X * X)


def test_a_value_that_the_result_does_not_need_has_the_gradient_zero() -> None:
    def f(x: Any) -> Any:
        fd.tap("aside", np.exp(x))
        return np.sum(x)

    np.testing.assert_array_equal(fd.tap_grads(f)(X)["aside"], np.zeros(3))


def test_gradients_by_name_nest_and_batch() -> None:
    def by_layer(x: Any) -> Any:
        return fd.tap_grads(_network, names="layer2")(W, x)["layer2"]

    def plain(x: Any) -> Any:
        return fd.grad(_from_layer, 1)(W, fd.tap_values(_network)(W, x)["layer2"], 2)

    np.testing.assert_allclose(fd.jacobian(by_layer)(X), fd.jacobian(plain)(X), rtol=1e-12)
    xs = RANDOM.normal(size=(4, 3))
    np.testing.assert_allclose(fd.vmap(by_layer)(xs), [by_layer(x) for x in xs], rtol=1e-12)


def test_taps_are_seen_through_checkpoints_and_batches() -> None:
    for layer in (fd.checkpoint(_network), fd.checkpoint(_network, keep="layer1")):
        found, plain = fd.tap_grads(layer)(W, X), fd.tap_grads(_network)(W, X)
        for name, gradient in plain.items():
            np.testing.assert_array_equal(found[name], gradient)
    batched = fd.tap_grads(lambda w: np.sum(fd.vmap(_network, (None, 0))(w, np.stack([X, -X]))))
    assert batched(W)["layer0"].shape == (2, 3)


def test_nothing_is_lost_of_the_bits_of_the_function() -> None:
    def f(x: Any) -> Any:
        return np.arctan2(fd.tap("y", x * -0.0), np.float64(-1.0))

    expected = fd.grad(lambda y: np.arctan2(y, np.float64(-1.0)))(-0.0)
    assert fd.tap_grads(f)(1.0)["y"] == expected


def test_taps_are_seen_in_compiled_functions_that_ran_before() -> None:
    compiled = fd.jit(_network)
    compiled(W, X)
    for _ in range(2):
        for name, gradient in fd.tap_grads(_network)(W, X).items():
            np.testing.assert_array_equal(fd.tap_grads(compiled)(W, X)[name], gradient)
    asked = fd.jit(fd.tap_values(_network))
    np.testing.assert_array_equal(asked(W, X)["layer0"], asked(W, X)["layer0"])
    np.testing.assert_allclose(asked(W, X)["layer0"], np.tanh(W @ X), rtol=1e-15)


# ---- bad input -------------------------------------------------------------------------------


def test_a_name_used_twice_is_refused_with_both_places() -> None:
    def f(x: Any) -> Any:
        for _ in range(2):
            x = fd.tap("layer", x * 2)
        return np.sum(x)

    with pytest.raises(InputError, match=r"second time, and before at .*f\"layer\{k\}\""):
        fd.tap_values(f)(X)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (lambda x: fd.scan(lambda c, r: (fd.tap("h", c * r), None), x[0], x)[0], "scan"),
        (lambda x: fd.cond(x[0] > 0, lambda x: fd.tap("h", x[0]), lambda x: x[1], x), "cond"),
        (lambda x: fd.while_loop(lambda c: c < 9, lambda c: fd.tap("h", c * c + 1), x[0]), "while"),
    ],
)
def test_a_tap_in_a_body_is_refused_with_the_cure(body: Any, name: str) -> None:
    with pytest.raises(InputError, match=rf"in the body of a {name}.*Return it from the body"):
        fd.tap_grads(body)(X)
    assert fd.tap_values(body, names=())(X) == {}


@fd.custom_vjp
def _tapping(x: Any) -> Any:
    return fd.tap("h", x * 2) ** 2


_tapping.defvjp(lambda x: (_tapping(x), x), lambda x, ct: (8 * x * ct,))


def test_a_tap_in_a_function_with_rules_is_refused_with_the_cure() -> None:
    message = r"in _tapping, which has derivative rules.*Return it from _tapping beside the result"
    for transform in (fd.tap_values, fd.tap_grads):
        with pytest.raises(InputError, match=message):
            transform(lambda x: np.sum(_tapping(x)))(X)


def test_a_tap_in_an_equation_is_refused_with_the_cure() -> None:
    def root(x: Any) -> Any:
        return fd.custom_root(lambda y: fd.tap("h", y * y) - x, x, lambda _, x: np.sqrt(x))

    with pytest.raises(InputError, match=r"in a function of custom_root.*from the solution"):
        fd.tap_values(root)(2.0)


@pytest.mark.parametrize("solve", [None, lambda _matvec, b: np.linalg.solve(np.eye(2) * 2.0, b)])
def test_a_tap_in_a_linear_map_is_refused_with_the_cure(solve: Any) -> None:
    def f(b: NDArray[np.float64]) -> NDArray[np.float64]:
        return fd.custom_linear_solve(lambda v: fd.tap("product", 2.0 * v), b, solve)

    b = np.array([1.0, 2.0])
    with pytest.raises(InputError, match=r"'product'.* Apply it to the solution"):
        fd.tap_values(f)(b)
    np.testing.assert_allclose(fd.jacobian(f)(b), np.eye(2) / 2.0)


def test_a_tap_in_the_function_of_map_is_told_about_map() -> None:
    with pytest.raises(InputError, match=r"body of a scan, map or fori_loop.*the result of map"):
        fd.tap_values(lambda x: fd.map(lambda row: fd.tap("h", row * row), x))(X)


def test_a_gradient_that_would_be_lost_is_refused() -> None:
    def f(x: Any) -> Any:
        y = x**2
        fd.tap("y", y)
        return np.sum(y)

    with pytest.raises(InputError, match=r"is not used, but the value itself is.*x = fd\.tap"):
        fd.tap_grads(f)(X)


def test_unknown_names_integers_and_wrong_results_are_refused() -> None:
    with pytest.raises(InputError, match=r"no value the name 'layer'.*Did you mean 'layer"):
        fd.tap_values(_network, names="layer")(W, X)
    with pytest.raises(InputError, match="It names no value"):
        fd.tap_grads(np.sum, names=("a",))(X)
    with pytest.raises(InputError, match=r"is i64\[\], which has no derivative.*names=\('y'\)"):
        fd.tap_grads(lambda x: fd.tap("y", x[fd.tap("n", 1)]))(X)
    with pytest.raises(OutputError, match=r"returned f64\[3\].*a sum"):
        fd.tap_grads(lambda x: fd.tap("y", x))(X)
    with pytest.raises(OutputError, match="real scalar"):
        fd.tap_grads(lambda x: (fd.tap("y", x), x))(X)  # type: ignore[arg-type, return-value]
    with pytest.raises(InputError, match="name of a tap is a str"):
        fd.tap(X, "x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must hold names"):
        fd.tap_values(_network, names=(1,))  # type: ignore[arg-type]
