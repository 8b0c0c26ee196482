"""Arrays that a traced function keeps, and that depend on no argument, leave their trace as values.

Random programs of constants, buffers written in place among them, run in a trace of every kind and
in plain NumPy; what they keep is used afterwards.  What depends on an argument is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import funcdiff as fd
import funcdiff.numpy as fnp
from funcdiff.errors import ChangedArrayError, EscapedTracerError, UnsupportedNumPyError

Keep = Callable[[Any, Any], Any]

CAPTURED = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0], [2.0, 0.0, 1.0]])

STARTS: dict[str, Callable[[Any], Any]] = {
    "eye": lambda xp: xp.eye(3),
    "zeros": lambda xp: xp.zeros((3, 3)),
    "ones": lambda xp: xp.ones((3, 3)),
    "full": lambda xp: xp.full((3, 3), 1.5),
    "copy": lambda xp: xp.eye(3) * CAPTURED,
    "identity": lambda xp: xp.identity(3) + xp.arange(3.0),
}

STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "scale": lambda xp, y: 2.5 * y + 1,
    "sine": lambda xp, y: xp.sin(y),
    "transpose": lambda xp, y: y.T,
    "row": lambda xp, y: _written(y, lambda z: z.__setitem__(1, 7.0)),
    "view": lambda xp, y: _written(y, lambda z: z[:, 1].__iadd__(2.0)),
    "product": lambda xp, y: y @ CAPTURED,
    "inverse": lambda xp, y: xp.linalg.inv(y @ y.T + xp.eye(3)),
    "chosen": lambda xp, y: xp.where(y > 1, y, 0.0),
    "sorted": lambda xp, y: xp.sort(y, axis=0),
    "flip": lambda xp, y: y[::-1],
    "eigenvectors": lambda xp, y: abs(xp.linalg.eigh(y + y.T)[1]),
}

TRACES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: fd.grad(f)(2.0),
    "jit": lambda f: fd.jit(f)(2.0),
    "vmap": lambda f: fd.vmap(f)(np.ones(2)),
    "grad of jit": lambda f: fd.grad(fd.jit(f))(2.0),
    "jvp": lambda f: fd.jvp(f, (2.0,), (1.0,)),
    "hessian": lambda f: fd.hessian(f)(2.0),
    "scan": lambda f: fd.grad(lambda x: fd.scan(lambda c, _: (c + f(x), None), x, length=2)[0])(
        2.0
    ),
    "within": lambda f: fd.grad(lambda x: x * fd.grad(lambda y: f(x * y))(x))(2.0),
}

USES: dict[str, Callable[[Any], Any]] = {
    "value": np.asarray,
    "sum": lambda c: np.sum(c * 2.0) + c[0, 0],
    "method": lambda c: c.mean(axis=0),
    "ours": lambda c: fnp.concatenate([c, fnp.array([c[0], np.ones(3)])]),
    "argument": lambda c: fd.grad(lambda y: np.sum(y**2))(c),
    "grad": lambda c: fd.grad(lambda y: np.sum(np.sin(y * c)))(2.0),
    "hessian": lambda c: fd.hessian(lambda y: np.sum(y**2 * c))(2.0),
    "jit": lambda c: fd.jit(lambda y: y @ c)(np.ones(3)),
    "vmap": lambda c: fd.vmap(lambda y: y @ c)(CAPTURED),
    "inner": lambda c: fd.grad(lambda x: fd.grad(lambda y: x**2 * np.sum(y * c))(1.0))(3.0),
    "thread": lambda c: ThreadPoolExecutor(1).submit(lambda: np.sum(c)).result(),
}


def _written(y: Any, write: Callable[[Any], Any]) -> Any:
    y = y + 0.0
    write(y)
    return y


def _kept(trace: str, keep: Keep) -> list[Any]:
    """Return what a function keeps that is traced in some way."""
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(keep(fnp, x))
        return np.sin(x)

    TRACES[trace](f)
    return kept


@given(
    st.sampled_from(sorted(TRACES)), st.sampled_from(sorted(STARTS)),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=4), st.sampled_from(sorted(USES)),
)  # fmt: skip
def test_constants_are_their_values_when_the_trace_has_ended(
    trace: str, start: str, steps: list[str], use: str
) -> None:
    def table(xp: Any, _x: Any = None) -> Any:
        y = STARTS[start](xp)
        for step in steps:
            y = STEPS[step](xp, y)
        return y

    expected = USES[use](table(np))
    for found in _kept(trace, table):
        np.testing.assert_allclose(np.asarray(USES[use](found)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize(
    "keep",
    [
        lambda _xp, x: x * np.eye(3),
        lambda xp, x: _written(xp.zeros((3, 3)), lambda z: z.__setitem__((0, 1), x)),
        lambda xp, x: _written(xp.eye(3), lambda z: z[1:].__iadd__(x)),
        lambda xp, x: xp.where(x > 1, xp.eye(3), 2.0),
        lambda xp, x: xp.eye(3) * fd.stop_gradient(x),
        lambda xp, x: xp.eye(3) + (x > 1),
    ],
)
def test_what_depends_on_an_argument_is_refused_however_it_is_used(trace: str, keep: Keep) -> None:
    for found in _kept(trace, keep):
        for use in set(USES) - {"value"}:
            with pytest.raises(EscapedTracerError):
                USES[use](found)


def test_constants_of_an_open_trace_do_not_pass_to_other_threads() -> None:
    def f(x: Any) -> Any:
        table = fnp.eye(3)
        with ThreadPoolExecutor(1) as pool:
            return x * pool.submit(lambda: np.sum(table)).result()

    with pytest.raises(EscapedTracerError, match="another thread"):
        fd.grad(f)(1.0)


def test_a_constant_of_a_large_array_is_refused_once_that_was_changed() -> None:
    large = np.ones(200_000)
    (kept,) = _kept("grad", lambda xp, _: xp.ones(1) * large)
    assert np.sum(kept) == 200_000
    large[0] = 5.0
    for use in (np.sum, np.asarray, fd.grad(lambda y: np.sum(y))):
        with pytest.raises(ChangedArrayError):
            use(kept)


def test_a_constant_that_has_left_its_trace_is_not_written_to() -> None:
    (kept,) = _kept("grad", lambda xp, _: xp.eye(3))
    with pytest.raises(UnsupportedNumPyError):
        kept[0] = 1.0
    with pytest.raises(UnsupportedNumPyError):
        fd.grad(lambda x: _written(kept, lambda _: kept.__iadd__(x)).sum())(1.0)
    np.testing.assert_array_equal(np.asarray(kept), np.eye(3))


def test_a_table_that_a_function_caches_serves_all_later_calls() -> None:
    tables: dict[int, Any] = {}

    def f(x: Any) -> Any:
        if len(x) not in tables:
            tables[len(x)] = fnp.linalg.inv(fnp.eye(len(x)) + fnp.ones((len(x), len(x))))
        return x @ tables[len(x)] @ x

    x = np.array([1.0, 2.0, 4.0])
    expected = 2 * np.linalg.inv(np.eye(3) + 1) @ x
    for derivative in (fd.grad(f), fd.grad(f), fd.jit(fd.grad(f)), fd.grad(fd.jit(f))):
        np.testing.assert_allclose(derivative(x), expected, rtol=1e-14)
    np.testing.assert_allclose(fd.hessian(f)(x), 2 * np.linalg.inv(np.eye(3) + 1), rtol=1e-14)
    assert f(x) == pytest.approx(x @ expected / 2)
