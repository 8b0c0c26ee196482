"""`checkpoint`: the derivatives of the function itself, in less memory."""

import tracemalloc
from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.errors import InputError
from funcdiff.ops.control.rematerialization import Checkpoint

RANDOM = np.random.default_rng(11)
W, X = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=3)


def _layer(w: Any, x: Any) -> Any:
    inner = fd.tap("inner", np.sin(w @ x))
    return np.tanh(inner * x) + w[0]


def _loss(layer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda w, x: np.sum(layer(w, layer(w, x)) ** 2)


CHECKPOINTED = [fd.checkpoint(_layer), fd.checkpoint(_layer, keep="inner")]
ids = ["plain", "keep"]


def _bodies(program: Program) -> list[Program]:
    return [eq.params.body for eq in program.equations if isinstance(eq.params, Checkpoint)]


def _count(program: Program, name: str) -> int:
    return sum(eq.primitive.name == name for eq in program.equations)


# ---- values and derivatives ------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("layer", CHECKPOINTED, ids=ids)
def test_derivatives_of_a_checkpoint_are_right_to_the_third_order(layer: Any) -> None:
    fd.testing.check_grads(_loss(layer), (W, X), order=3)


def test_containers_keywords_and_other_values_pass_through() -> None:
    @fd.checkpoint
    def f(p: Any, mode: str, *, scale: Any) -> Any:
        assert mode == "mode"
        return {"y": p["w"] * scale, "mode": mode, "n": 3}

    def loss(p: Any, scale: Any) -> Any:
        result = f(p, "mode", scale=scale)
        assert result["mode"] == "mode"
        return np.sum(result["y"] ** 2) * result["n"]

    p = {"w": X, "unused": [1.0]}
    assert f(p, "mode", scale=2.0)["n"] == 3
    gradient, by_scale = fd.grad(loss, (0, 1))(p, 2.0)
    np.testing.assert_allclose(gradient["w"], 24 * X)
    assert gradient["unused"] == [0.0]
    np.testing.assert_allclose(by_scale, 12 * np.sum(X**2))


def test_a_checkpoint_decides_by_values_in_an_eager_trace() -> None:
    f = fd.checkpoint(lambda x: x**2 if x > 0 else -x)
    assert [fd.grad(f)(3.0), fd.grad(f)(-3.0)] == [6.0, -1.0]


def test_a_linear_checkpoint_can_be_transposed() -> None:
    (ct,) = fd.linear_transpose(fd.checkpoint(lambda x: W @ x), X)(X)
    np.testing.assert_allclose(ct, W.T @ X)


def test_an_operand_that_the_backward_pass_does_not_use_is_not_kept() -> None:
    f = fd.checkpoint(lambda x, y: np.sin(x) + 3.0 * y)
    program = fd.trace(fd.grad(lambda x, y: np.sum(f(x, y)), (0, 1)))(X, X)
    backward = [body for body in _bodies(program) if _count(body, "cos")]
    assert [len(body.inputs) for body in backward] == [2]


def _kept_by(mask: Callable[[Any], Any], f: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function that drops the infinite slopes of `f` where the mask is false."""
    return lambda x: np.sum(np.where(mask(x), f(x), 0) ** 3)


@pytest.mark.parametrize("transform", [fd.grad, fd.jacfwd, fd.jacrev, fd.hessian])
@pytest.mark.parametrize(("f", "checkpointed"), [
    (np.sqrt, fd.checkpoint(lambda x: np.sqrt(x))),
    (lambda x: np.sqrt(np.log(x)),
     lambda x: fd.checkpoint(lambda y: np.sqrt(y))(fd.checkpoint(lambda z: np.log(z))(x))),
    (lambda x: np.sqrt(x)[::-1][::-1] * x,
     fd.checkpoint(lambda x: fd.checkpoint(lambda y: np.sqrt(y)[::-1])(x)[::-1] * x)),
], ids=["one", "two in a row", "nested"])  # fmt: skip
def test_an_infinite_slope_in_a_checkpoint_never_meets_a_mask_outside(
    transform: Callable[..., Any], f: Callable[..., Any], checkpointed: Callable[..., Any]
) -> None:
    x = np.array([0.0, 2.0, -1.0, 1.5])
    expected = transform(_kept_by(lambda x: x > 1, f))(x)
    assert np.isfinite(expected).all()
    found = transform(_kept_by(lambda x: x > 1, checkpointed))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_a_mask_that_is_an_argument_is_at_work_nevertheless() -> None:
    def f(x: Any, layer: Any) -> Any:
        mask = x > 0
        return np.sum(np.where(mask, layer(x, mask), 0))

    def layer(x: Any, mask: Any) -> Any:
        return np.sqrt(x) * np.where(mask, 2.0, 3.0)

    x = np.array([0.0, 4.0])
    np.testing.assert_array_equal(fd.grad(f)(x, fd.checkpoint(layer)), [0.0, 0.5])


# ---- what is computed again ------------------------------------------------------------------


def test_the_backward_pass_computes_residuals_where_it_needs_them() -> None:
    program = fd.trace(fd.grad(_loss(CHECKPOINTED[0]), 1))(W, X)
    bodies = _bodies(program)
    assert [_count(body, "sin") for body in bodies] == [1, 1, 1, 1]
    assert [_count(body, "cos") for body in bodies] == [0, 0, 1, 1]
    assert _count(program, "sin") == _count(program, "cos") == 0


def test_a_kept_value_is_not_computed_again() -> None:
    bodies = _bodies(fd.trace(fd.grad(_loss(CHECKPOINTED[1]), 1))(W, X))
    assert [_count(body, "sin") for body in bodies] == [1, 1, 0, 0]
    assert [_count(body, "cos") for body in bodies] == [0, 0, 1, 1]
    assert [len(body.outputs) for body in bodies[:2]] == [2, 2]


def test_a_value_is_kept_only_if_the_backward_pass_uses_it() -> None:
    f = fd.checkpoint(lambda x: 3.0 * fd.tap("linear", 2.0 * x) + np.sin(x), keep=("linear",))
    for body in _bodies(fd.trace(fd.grad(lambda x: np.sum(f(x))))(X)):
        assert len(body.outputs) == 1


def test_the_body_runs_again_once_for_each_order_of_reverse_mode() -> None:
    inner = fd.trace(fd.grad(fd.grad(lambda x: fd.checkpoint(np.sin)(x) ** 2)))(0.3)
    assert all(_count(body, "sin") <= 1 for body in _bodies(inner))
    assert len(_bodies(inner)) <= 4


def _peak(f: Callable[[Any], Any], x: Any) -> int:
    fd.grad(f)(x)  # what tracing allocates for good is not counted
    tracemalloc.start()
    try:
        fd.grad(f)(x)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_chain_in_segments_needs_the_memory_of_the_square_root() -> None:
    def segment(n: int) -> Callable[[Any], Any]:
        def steps(x: Any) -> Any:
            for _ in range(n):
                x = np.sin(x) * 0.9
            return x

        return steps

    def chain(x: Any) -> Any:
        return np.sum(segment(49)(x))

    def segmented(x: Any) -> Any:
        for _ in range(7):
            x = fd.checkpoint(segment(7))(x)
        return np.sum(x)

    x = np.ones(50_000)
    whole, parts = _peak(chain, x) / x.nbytes, _peak(segmented, x) / x.nbytes
    assert whole > 49
    assert parts < 7 + 7 + 10


# ---- bad input -------------------------------------------------------------------------------


def test_a_name_to_keep_that_is_not_given_is_refused_with_near_misses() -> None:
    with pytest.raises(InputError, match=r"no value the name 'iner' .* Did you mean 'inner'"):
        fd.grad(_loss(fd.checkpoint(_layer, keep="iner")))(W, X)
    with pytest.raises(InputError, match=r"It names none.*outside the bodies of scan"):
        fd.grad(fd.checkpoint(lambda x: x * 2, keep=("a",)))(1.0)
    with pytest.raises(InputError, match=r"must hold names.*fd\.tap"):
        fd.checkpoint(_layer, keep=(1,))  # type: ignore[arg-type]


def test_an_argument_changed_in_place_is_refused() -> None:
    @fd.checkpoint
    def f(p: Any) -> Any:
        p["x"] += 1.0
        return np.sum(p["x"])

    with pytest.raises(InputError, match=r"changes \(args, kwargs\)\[0\]\[0\]\['x'\] in place"):
        fd.grad(lambda x: f({"x": x}))(X)


def test_an_error_in_a_checkpoint_passes_untouched_and_leaves_nothing_behind() -> None:
    def fails(x: Any) -> Any:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fd.grad(fd.checkpoint(fails))(1.0)
    assert fd.grad(fd.checkpoint(lambda x: x * x))(1.0) == 2.0


def test_a_checkpoint_has_the_type_and_the_name_of_the_function() -> None:
    def f(x: NDArray[np.float64], *, n: int = 2) -> np.float64:
        return np.sum(x) * n

    g = fd.checkpoint(f)
    assert g.__name__ == "f"
    assert_type(g(X, n=3), np.float64)
    assert_type(fd.grad(g)(X), NDArray[np.float64])
