"""Bridges in PyTorch: ``python -m pytest -n 0 tests/interop/in_torch.py``, with it installed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import func

import funcdiff as fd
from funcdiff.errors import InputError, PytreeError
from funcdiff.interop.torch import use, wrap
from tests.interop.patterns import agree

torch.set_default_dtype(torch.float64)

pytestmark = [  # of PyTorch, about itself
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:torch"),
]

X = torch.tensor([0.3, 0.7, -0.2])


def ours(x: Any) -> Any:
    return np.tanh(x) * x[::-1] + x[0] * np.sum(x**2)


def theirs(x: Any) -> Any:
    return torch.tanh(x) * x.flip(0) + x[0] * torch.sum(x**2)


def _backward(h: Any) -> Any:
    def run(x: Any) -> Any:
        y = x * 1.0 if x.requires_grad else x.clone().requires_grad_(True)
        return torch.autograd.grad(h(y), y, torch.sin(y), create_graph=True)[0]

    return run


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "batch": lambda h: lambda x: func.vmap(h)(torch.stack([x, 2 * x])).sum(0),
    "shared": lambda h: lambda x: func.vmap(lambda s: h(x * s))(torch.tensor([0.5, 1.5])).sum(0),
    "forward": lambda h: lambda x: func.jvp(h, (x,), (torch.cos(x),))[1],
    "reverse": lambda h: lambda x: func.vjp(h, x)[1](torch.sin(x))[0],
}


@given(names=st.lists(st.sampled_from(sorted(TRANSFORMS)), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_transforms_nest_in_any_order(names: list[str]) -> None:
    bridged: Any = wrap(ours)
    native: Any = theirs
    for name in names:
        bridged, native = TRANSFORMS[name](bridged), TRANSFORMS[name](native)
    agree(str(names), bridged(X), native(X))


def test_backward_goes_through_its_own_graph() -> None:
    bridged: Any = wrap(ours)
    native: Any = theirs
    for order in range(1, 4):
        bridged, native = _backward(bridged), _backward(native)
        agree(str(order), bridged(X).detach(), native(X).detach())


def test_gradients_of_complex_tensors_follow_pytorch() -> None:
    found = []
    for f in (wrap(lambda z: np.sum(np.sin(z) * z)), lambda z: torch.sum(torch.sin(z) * z)):
        z = torch.complex(X, X.flip(0)).requires_grad_(True)
        (f(z).abs() ** 2).backward()
        found.append(z.grad)
    agree("complex", *found)


def test_code_that_decides_by_values() -> None:
    f = wrap(lambda x: np.sum(x**2) if x[0] > 0 else np.sum(x))
    agree("grad", func.grad(f)(-X), np.ones(3))
    rows = torch.stack([X, -X])
    agree("batch", func.vmap(func.grad(f))(rows), torch.stack([2 * X, torch.ones(3)]))


def test_integers_and_other_results_have_no_derivative() -> None:
    f = wrap(lambda x, n, k: {"place": np.argmax(x), "y": x**n * k, "name": "powers"})
    x = X.clone().requires_grad_(True)
    found = f(x, torch.tensor([1, 2, 3]), np.arange(3.0))
    assert found["name"] == "powers"
    assert not found["place"].requires_grad
    found["y"].sum().backward()
    agree("slopes", x.grad, [0, 2 * X[1], 6 * X[2] ** 2])


def test_tensors_share_memory_and_cannot_be_written_to() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x.ctypes.data)
        return np.sum(x)

    wrap(f)(X)
    assert seen == [X.data_ptr()]
    with pytest.raises(ValueError, match="read-only"):
        wrap(lambda x: np.add(x, 1, out=x))(X)


def test_a_result_that_the_code_keeps_is_copied() -> None:
    kept = np.ones(3)
    y = wrap(lambda x: kept)(X)
    kept[:] = 7
    agree("copy", y, np.ones(3))


@pytest.mark.parametrize(
    "f",
    [lambda x: x[::-1], lambda x: np.array([1.0, 2.0])[::-1], lambda x: np.broadcast_to(x[0], 3)],
)
def test_results_in_any_layout_are_tensors(f: Any) -> None:
    agree("value", wrap(f)(X), f(X.numpy()))
    agree("jacobian", func.jacrev(wrap(f))(X), fd.jacobian(f)(X.numpy()))
    agree("here", use(lambda x: x * 2)(X.numpy()[::-1]), 2 * X.numpy()[::-1])


def test_compiled_functions_call_bridges() -> None:
    f = wrap(ours)
    compiled = torch.compile(lambda x: torch.sin(f(x)).sum())
    agree("value", compiled(X), torch.sin(theirs(X)).sum())
    x = X.clone().requires_grad_(True)
    compiled(x).backward()
    agree("gradient", x.grad, func.grad(lambda x: torch.sin(theirs(x)).sum())(X))
    slope = torch.compile(func.grad(lambda x: torch.sin(f(x)).sum()))
    agree("compiled gradient", slope(X), x.grad)


def test_modules_with_bridges_are_trained() -> None:
    torch.manual_seed(0)
    decay = wrap(lambda rate, t: np.exp(-np.outer(t, rate)))
    rate, t = torch.nn.Parameter(torch.tensor([0.5, 1.5])), torch.linspace(0, 1, 20)
    target = decay(torch.tensor([1.0, 3.0]), t)
    optimizer = torch.optim.LBFGS([rate], max_iter=50)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((decay(rate, t) - target) ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    agree("rates", rate.detach(), [1.0, 3.0], 1e-4)


@given(names=st.lists(st.sampled_from(["jit", "batch", "forward", "reverse"]), max_size=4))
@settings(max_examples=40, deadline=None)
def test_functions_of_pytorch_are_operations(names: list[str]) -> None:
    here: dict[str, Callable[[Any], Any]] = {
        "jit": fd.jit,
        "batch": lambda h: lambda x: fd.vmap(h)(np.stack([x, 2 * x])).sum(0),
        "forward": lambda h: lambda x: fd.jvp(h, (x,), (np.cos(x),))[1],
        "reverse": lambda h: lambda x: fd.vjp(h, x)[1](np.sin(x))[0],
    }
    inside: Any = use(theirs)
    outside: Any = ours
    for name in names:
        inside, outside = here[name](inside), here[name](outside)
    agree(str(names), inside(X.numpy()), outside(X.numpy()))


def test_modules_of_pytorch_are_operations() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    net.requires_grad_(False)
    g = use(lambda x: net(x)[0])
    agree("hessian", fd.hessian(g)(X.numpy()), func.hessian(lambda x: net(x)[0])(X))
    conditional = use(lambda x: x.sum() if x[0] > 0 else (x**2).sum())
    agree("decided", fd.grad(conditional)(-X.numpy()), -2 * X)


def test_derivatives_by_tensors_are_tensors() -> None:
    p = {"w": X, "b": [X[:2]]}

    def f(p: Any) -> Any:
        return np.sum(np.sin(p["w"]) ** 2) * np.sum(p["b"][0])

    gradient = fd.grad(f)(p)
    assert isinstance(gradient["b"][0], torch.Tensor)
    agree("gradient", gradient["w"], torch.sin(2 * X) * torch.sum(X[:2]))
    assert fd.hessian(f)(p)["w"]["b"][0].shape == (3, 2)
    with pytest.raises(PytreeError, match=r"f = fd.interop.torch.wrap\(fd.grad\(f\)\)"):
        fd.grad(np.sum)(X.clone().requires_grad_(True))


def test_what_cannot_be_bridged_is_refused() -> None:
    with pytest.raises((InputError, TypeError), match=r"bfloat16|BFloat16"):
        wrap(ours)(X.to(torch.bfloat16))
    with pytest.raises(InputError, match="no such dtype"):
        use(theirs)(np.ones(3, np.longdouble))
