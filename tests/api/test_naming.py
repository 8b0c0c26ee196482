"""What a derived function, and the module itself, show of themselves."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd


def loss(x: Any, y: Any = 1.0) -> Any:
    return np.sum(x * y)


SHOWN: list[tuple[Callable[..., Any], str]] = [
    (fd.grad(loss), "grad(loss)"),
    (fd.grad(loss, 1), "grad(loss, argnums=1)"),
    (fd.grad(loss, argnums=0), "grad(loss, argnums=0)"),
    (fd.value_and_grad(loss, argnames="y"), "value_and_grad(loss, argnames='y')"),
    (fd.grad(loss, holomorphic=True), "grad(loss, holomorphic=True)"),
    (fd.grad(fd.grad(loss)), "grad(grad(loss))"),
    (fd.vmap(fd.grad(loss), (0, None)), "vmap(grad(loss), in_axes=(0, None))"),
    (fd.jacrev(loss, (0, 1)), "jacrev(loss, argnums=(0, 1))"),
    (fd.hessian(np.tanh), "hessian(tanh)"),
    (fd.derivative(lambda t: t, n=2), "derivative(<lambda>, n=2)"),
    (fd.checkpoint(loss), "checkpoint(loss)"),
    (fd.source(loss), "source(loss)"),
    (fd.export(loss, "jax"), "export(loss, target='jax')"),
]


@pytest.mark.parametrize(("function", "shown"), SHOWN, ids=[shown for _, shown in SHOWN])
def test_a_derived_function_prints_as_what_it_is(function: Any, shown: str) -> None:
    assert shown in repr(function)
    assert not hasattr(function, "__wrapped__") or callable(function.__wrapped__)


def test_functions_in_functions_are_shown_by_their_own_name() -> None:
    def inner(x: Any) -> Any:
        return x**2

    assert repr(fd.grad(inner)).startswith("grad(inner)")
    assert fd.grad(inner).__name__ == "inner"


TYPED = [
    fd.grad, fd.value_and_grad, fd.elementwise_grad, fd.jacobian, fd.jacfwd, fd.jacrev,
    fd.value_and_jacobian, fd.hessian, fd.value_grad_and_hessian, fd.derivative, fd.vjp, fd.jvp,
    fd.linearize, fd.linear_transpose, fd.hvp, fd.vhp, fd.gauss_newton_product,
    fd.directional_derivative, fd.scan, fd.map, fd.custom_root, fd.custom_linear_solve,
]  # fmt: skip


@pytest.mark.parametrize("transform", TYPED, ids=lambda transform: transform.__name__)
def test_help_shows_the_signature_and_the_text_of_a_transform(transform: Any) -> None:
    assert next(iter(inspect.signature(transform).parameters)) in ("f", "matvec")
    assert "Parameters" in (text := inspect.getdoc(transform) or "") or "parameters" in text
    assert transform.__module__.startswith("funcdiff.api.")


def test_dir_shows_what_is_public() -> None:
    shown = {name for name in dir(fd) if not name.startswith("__")}
    assert shown == set(fd.__all__)
    assert not {"api", "backend", "core", "ops", "passes", "space"} & shown
    assert all(hasattr(fd, name) for name in dir(fd))
