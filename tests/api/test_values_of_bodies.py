"""Bodies that are traced without values have none, whatever is traced around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from tests.together import together

X = np.array([1.0, 2.0])


def scanned(x: Any) -> Any:
    return fd.scan(lambda c, _: (c * float(fd.stop_gradient(c[0])), None), x, None, length=3)[
        0
    ].sum()


def branching(x: Any) -> Any:
    step = lambda c, _: (c * 0.5 if np.all(c > 0.6) else c * 10, None)
    return fd.scan(step, x, None, length=4)[0].sum()


def batched(x: Any) -> Any:
    return np.sum(fd.vmap(lambda b: b if b > 1 else -b)(x))


def compiled(x: Any) -> Any:
    return np.sum(fd.jit(lambda x: x if x[0] > 0 else -x, guards=False)(x))


def looped(x: Any) -> Any:
    return fd.while_loop(lambda c: c[0] < 5, lambda c: c * (2.0 if c[1] > 0 else 3.0), x).sum()


def chosen(x: Any) -> Any:
    return fd.cond(x[0] > 0, lambda x: x if x[1] > 0 else -x, lambda x: x, x).sum()


@together
@pytest.mark.parametrize("f", [scanned, branching, batched, compiled, chosen, looped])
@pytest.mark.parametrize(
    "transform",
    [
        lambda f, x: fd.grad(f)(x),
        lambda f, x: fd.vjp(f, x),
        lambda f, x: fd.jvp(f, (x,), (x,)),
        lambda f, x: fd.linearize(f, x),
        lambda f, x: fd.hessian(f)(x),
        lambda f, x: fd.vmap(fd.grad(f))(x[None]),
    ],
)
def test_a_body_never_sees_values_of_the_trace_around_it(f: Any, transform: Any) -> None:
    with pytest.raises(ConcreteValueError):
        transform(f, X)


def test_a_compiled_branch_is_not_kept_for_other_values() -> None:
    g: Callable[[Any], Any] = fd.jit(lambda x: x * x if x > 0 else -x)
    for _ in range(3):
        for x, slope in ((2.0, 4.0), (-2.0, -1.0)):
            assert fd.grad(g)(x) == slope


def test_values_of_what_a_body_closes_over_are_known() -> None:
    def f(x: Any) -> Any:
        return fd.scan(lambda c, r: (c + (r if x[0] > 0 else -r), None), 0.0, x)[0]

    np.testing.assert_array_equal(fd.grad(f)(X), [1.0, 1.0])
    np.testing.assert_array_equal(fd.grad(f)(-X), [-1.0, -1.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda b: np.quantile(b, 0.3),
        lambda b: np.average(b, weights=b * b),
        lambda b: np.sum(np.geomspace(b[0], b[1], 4)),
        lambda b: np.sum(np.linalg.lstsq(np.stack([b, b * b, np.sin(b)]), np.ones(3))[0]),
    ],
)
def test_functions_that_look_at_values_where_they_can_work_in_batches(f: Any) -> None:
    rows = np.array([[1.0, 2.5], [0.5, 3.0], [2.0, 0.7]])
    found = fd.grad(lambda x: np.sum(fd.vmap(f)(x)))(rows)
    np.testing.assert_allclose(found, np.stack([fd.grad(f)(row) for row in rows]), rtol=1e-9)
