"""Random functions that move axes in every order: what their labels allow changes no derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.core.access import Access
from funcdiff.core.primitive import Operation
from funcdiff.ops.products.contract import contract_p
from tests.properties.every_way import assert_every_way_agrees
from tests.properties.laws import Draw, few

Step = Callable[[Any], Any]
LARGEST: Final = 40
"""Elements of a value."""


def _numbers(*shape: int) -> Any:
    return np.cos(1.7 * np.arange(1, 1 + np.prod(shape, dtype=int))).reshape(shape)


def _moves(draw: Draw, shape: tuple[int, ...]) -> Step:
    """Draw an operation that moves, cuts, repeats or joins axes."""
    order = draw(st.permutations(range(len(shape))))
    axis = draw(st.integers(0, len(shape) - 1))
    n, step = shape[axis], draw(st.sampled_from((1, 2, -1)))
    part = (*[slice(None)] * axis, slice(draw(st.integers(0, max(n - 1, 0))), None, step))
    widths = [(0, 0)] * len(shape)
    widths[axis] = (draw(st.integers(0, 1)), draw(st.integers(0, 1)))
    size = int(np.prod(shape))
    steps: tuple[Step, ...] = (
        lambda x: np.transpose(x, order),
        lambda x: np.swapaxes(x, 0, -1),
        lambda x: x[part if step > 0 else (*part[:-1], slice(None, None, -1))],
        lambda x: np.pad(x, widths),
        lambda x: np.concatenate([x, np.flip(x, axis)], axis),
        lambda x: np.expand_dims(x, axis) * np.ones((2, *[1] * (x.ndim - axis))),
        lambda x: x.reshape(shape[::-1]),
        lambda x: x.reshape(-1),
        lambda x: x.reshape((*shape[:axis], size // max(int(np.prod(shape[:axis])), 1))),
        lambda x: np.stack([x, 2 * x], axis),
        lambda x: np.take(x, [0, n - 1, 0], axis) if n else x,
        lambda x: np.roll(x, 1, axis),
    )
    chosen: Step = draw(st.sampled_from(steps))
    return chosen


def _computes(draw: Draw, shape: tuple[int, ...]) -> Step:
    """Draw an operation that computes, of elements or along axes."""
    axis = draw(st.integers(0, len(shape) - 1))
    n, last = shape[axis], shape[-1]
    steps: tuple[Step, ...] = (
        np.sin,
        lambda x: x * np.transpose(x) if x.shape == x.shape[::-1] else x * x,
        lambda x: np.sum(x, axis),
        lambda x: np.cumsum(x, axis),
        lambda x: np.exp(x) / np.sum(np.exp(x), axis, keepdims=True),
        lambda x: x - np.mean(x, axis, keepdims=True) if n else x,
        lambda x: x @ _numbers(last, 2),
        lambda x: np.tensordot(_numbers(2, n), x, (1, axis)),
        lambda x: np.einsum("...i,...i->...i", x, _numbers(*shape)),
        lambda x: np.where(_numbers(*shape) > 0, x, 0.5 * x * x),
        lambda x: np.fft.rfft(x, axis=axis).real if n else x,
        lambda x: np.linalg.solve(3 * np.eye(last) + _numbers(last, last), x[..., None])[..., 0],
    )
    chosen: Step = draw(st.sampled_from(steps))
    return chosen


def _function(draw: Draw) -> tuple[Callable[[Any], list[Any]], Any]:
    """Draw a function of a matrix, whose axes have unequal or equal lengths, and the matrix."""
    n = draw(st.integers(0, 3))
    m = draw(st.sampled_from((n, 1, 2, 3)))
    steps: list[Step] = [lambda w: _numbers(3, n) @ w] if draw(st.booleans()) else []
    x = w = _numbers(n, m)
    for step in steps:
        x = step(x)
    for _ in range(draw(st.integers(2, 6))):
        step = draw(st.sampled_from((_moves, _computes)))(draw, x.shape)
        y = step(x)
        if 0 < y.ndim < 5 and y.size <= LARGEST:
            steps.append(step)
            x = y

    def function(x: Any) -> list[Any]:
        for step in steps:
            x = step(x)
        return [np.sin(x) * x]

    return function, w


@pytest.mark.slow
@settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.data())
def test_all_ways_to_jacobians_and_hessians_agree_however_axes_move(data: st.DataObject) -> None:
    f, x = _function(data.draw)
    assert_every_way_agrees(f, [x], order=2)


@few
@given(st.data())
def test_labels_change_no_batch_and_no_compiled_gradient(data: st.DataObject) -> None:
    f, x = _function(data.draw)

    def results() -> list[Any]:
        fd.clear_caches()
        gradient = fd.grad(lambda x: np.sum(f(x)[0]))
        many = np.stack([x, 0.5 * x, x + 1])
        batched, compiled = fd.vmap(gradient), fd.jit(gradient)
        return [*(batched(many) for _ in range(9)), *(compiled(x) for _ in range(9))]

    found = results()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Operation, "access", property(_unlabelled))
        expected = results()
    fd.clear_caches()
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-9, atol=1e-12)


LABELS: Callable[[Operation], Access] = vars(Operation)["access"].fget


def _unlabelled(op: Operation) -> Access:
    """Return that nothing is known of any axis, but of a contraction, which is its labels."""
    if op.primitive is contract_p:
        return LABELS(op)
    sides: Sequence[Any] = (op.results, op.operands)
    return Access(*(tuple((None,) * t.ndim for t in types) for types in sides))  # type: ignore[arg-type]
