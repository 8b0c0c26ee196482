"""What a derived function, and the module itself, show of themselves."""

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd

FD: Any = fd


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


def test_a_function_by_keyword_is_the_same() -> None:
    for transform in (fd.grad, fd.vmap, fd.jacobian):
        derived: Any = transform(f=loss)
        assert derived == transform(loss)
        assert hash(derived) == hash(transform(loss))
        assert repr(derived) == repr(transform(loss))


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


def _loss(w: Any, x: Any, *, scale: float = 1.0) -> Any:
    """Return the squared error."""
    return scale * np.sum((w - x) ** 2)


DOCUMENTED = {
    "Gradient of _loss.": fd.grad(_loss),
    "Gradient of _loss, argnums=1.": fd.grad(_loss, 1),
    "Value and gradient of _loss.": fd.value_and_grad(_loss),
    "Jacobian of _loss, argnames='x'.": fd.jacobian(_loss, argnames="x"),
    "Hessian of _loss.": fd.hessian(_loss),
    "Gradient of grad(_loss).": fd.grad(fd.grad(_loss)),
    "Return the squared error.": fd.jit(_loss),
}


@pytest.mark.parametrize("text", DOCUMENTED)
def test_help_of_a_derivative_says_of_what_it_is_and_shows_the_signature(text: str) -> None:
    derived: Any = DOCUMENTED[text]
    assert (inspect.getdoc(derived) or "").splitlines()[0] == text
    assert "Return the squared error." in str(derived.__doc__)
    assert inspect.signature(derived) == inspect.signature(_loss)


def test_a_function_without_a_text_gets_one() -> None:
    assert inspect.getdoc(fd.grad(lambda x: x)) == "Gradient of <lambda>."


DECORATORS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (fd.grad(argnums=1), lambda f: fd.grad(f, 1), (2.0, 3.0)),
    (fd.value_and_grad(argnames="x"), lambda f: fd.value_and_grad(f, argnames="x"), (2.0, 3.0)),
    (fd.jacobian(mode="forward"), lambda f: fd.jacobian(f, mode="forward"), (2.0, 3.0)),
    (fd.hessian(argnums=0), lambda f: fd.hessian(f, 0), (2.0, 3.0)),
    (fd.vmap(in_axes=(0, None)), lambda f: fd.vmap(f, (0, None)), (np.arange(3.0), 3.0)),
    (fd.jit(static_argnums=1), fd.jit, (2.0, 3)),
    (fd.checkpoint(keep=()), fd.checkpoint, (2.0, 3.0)),
    (fd.grad(), fd.grad, (2.0, 3.0)),
    (fd.jit(), fd.jit, (2.0, 3.0)),
]


@pytest.mark.parametrize(("decorator", "plainly", "args"), DECORATORS)
def test_a_transform_with_its_options_alone_is_a_decorator(
    decorator: Any, plainly: Any, args: Any
) -> None:
    made, plain = decorator(_loss), plainly(_loss)
    assert type(made) is type(plain)
    assert repr(made).partition(" ")[0] == repr(plain).partition(" ")[0]
    found, expected = made(*args), plain(*args)
    np.testing.assert_array_equal(found, expected)
    assert pickle.loads(pickle.dumps(made)) == made


def test_rules_take_their_options_as_a_decorator() -> None:
    power = FD.custom_vjp(nondiff_argnums=0)(lambda n, x: x**n)
    power.defvjp(lambda n, x: (x**n, x), lambda n, x, ct: (ct * n * x ** (n - 1),))
    assert fd.grad(lambda x: power(3, x))(2.0) == 12.0
    doubled = FD.primitive(result=lambda x: x)(lambda x: 2 * x)
    assert fd.jit(doubled)(2.0) == 4.0
