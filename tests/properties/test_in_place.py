"""Random programs that change arrays in place are NumPy's, and so are their derivatives.

Values are those of plain NumPy bit for bit.  Derivatives are those of a complex step through plain
NumPy, in every call of several, and under every transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import funcdiff as fd
from funcdiff.errors import ConcreteValueError, UnsupportedNumPyError
from tests.numpy.agreement import value_under_trace
from tests.properties import in_place
from tests.properties.laws import SLOW, examples

EAGER_CALLS = 8
JITTED_CALLS = 3
NOT_HOLOMORPHIC = {"sorted", "set_part", "parts", "squared"}
"""Actions that do something else to complex numbers."""

Program = tuple[str, in_place.Steps]
Function = Callable[[Any], Any]


SEEDS = st.integers(0, 2**32 - 1)


def programs(most: int) -> st.SearchStrategy[Program]:
    """Draw a program: by seeds, as integers that are drawn one by one are mostly small or equal."""
    steps = st.lists(SEEDS, min_size=most // 2, max_size=most)
    return st.builds(in_place.program, st.integers(0, len(in_place.STARTS) - 1), steps)


@st.composite
def arrays(draw: st.DrawFn, kinds: tuple[str, ...] = ("f8", "f4", "c16")) -> Any:
    """Draw an array whose axes may have length 0 or 1, in any order in memory, or with gaps."""
    lengths = st.sampled_from((2, 3, 2, 3, 2, 3, 1, 0))
    shape = tuple(draw(st.lists(lengths, min_size=draw(st.sampled_from((2, 1))), max_size=3)))
    random = np.random.default_rng(draw(st.integers(0, 99)))
    kind = draw(st.sampled_from(kinds))
    x = random.normal(size=shape) + (1j * random.normal(size=shape) if kind == "c16" else 0)
    x = x.astype(kind)
    order = draw(st.permutations(range(x.ndim)))
    turned = np.transpose(np.transpose(x, order).copy(), np.argsort(order))
    gaps = np.repeat(turned, 2, axis=-1)[..., ::2]
    return draw(st.sampled_from((x, turned, gaps, turned[::-1])))


def _require_numpys_values(program: Program, x: Any, *, exports: bool = False) -> None:
    copied = fd.stop_gradient(x) if exports else _copied(x)
    expected, raised = in_place.run(program, copied, exports=exports)

    def results(x: Any) -> Any:
        given = fd.stop_gradient(x) if exports else x
        return in_place.run(program, given, raised, exports=exports)[0]

    try:
        found = value_under_trace(results, x)
    except UnsupportedNumPyError:  # a layout that nobody knows
        reject()
    for y, z in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        assert (y.shape, y.dtype) == (z.shape, z.dtype)
        np.testing.assert_array_equal(y, z)


def _require_derivatives(program: Program, x: Any) -> None:
    results, raised = in_place.run(program, _copied(x))
    random = np.random.default_rng(x.size)
    weights = [random.normal(size=np.shape(y)) for y in results]

    def f(x: Any, known: list[bool] | None = raised) -> Any:
        ys = in_place.run(program, x, known)[0]
        return sum(np.sum(y * w) for y, w in zip(ys, weights, strict=True)) + 0 * np.sum(x)

    try:
        first, *others = (fd.grad(f)(x) for _ in range(EAGER_CALLS))
    except UnsupportedNumPyError:
        reject()
    assert first.shape == x.shape
    for further in others:
        _require_close(further, first)
    if not NOT_HOLOMORPHIC & {name for name, _ in program[1]}:
        _require_close(first, _by_complex_step(lambda z: f(z, None), x))
    t = random.normal(size=x.shape)
    _require_close(fd.jvp(f, (x,), (t,))[1], np.sum(first * t))
    _require_transforms(f, first, x, t)


def _copied(x: Any, factor: int = 1, *, count: int = 1) -> Any:
    """Return copies that lie in memory as the array does, with gaps and reversed axes.

    With a factor of 2 they are complex, of real numbers.
    """
    if x.size == 0:
        return np.stack([x] * count) if count > 1 else x * 1
    low, high = np.lib.array_utils.byte_bounds(x)
    each = factor * (high - low)
    memory, start = np.zeros(count * each, np.uint8), x.__array_interface__["data"][0] - low
    strides = [factor * stride for stride in x.strides]
    dtype = x.dtype if factor == 1 else complex
    copies: Any = np.ndarray((count, *x.shape), dtype, memory, factor * start, (each, *strides))
    copies[...] = x
    return copies if count > 1 else copies[0]


def _by_complex_step(f: Function, x: Any) -> Any:
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        z = _copied(x, 2)
        z[place] += 1e-30j
        found[place] = f(z).imag / 1e-30
    return found


def _require_transforms(f: Function, gradient: Any, x: Any, t: Any) -> None:
    """Require the same of jit and vmap, as far as they take it, and symmetric second derivatives.

    Without values, the layout of an array, or where a mask is true, may not be known.
    """
    jitted = fd.jit(fd.grad(f))
    for _ in range(JITTED_CALLS):
        _require_close(_unless_refused(jitted, x), gradient)
    rows = _copied(x, count=2)
    _require_close(_unless_refused(fd.vmap(fd.grad(f)), rows), np.stack([gradient, gradient]))
    hessian = fd.hessian(f)(x)
    turned = np.moveaxis(hessian, range(x.ndim), range(x.ndim, 2 * x.ndim))
    _require_close(hessian, turned)
    product = fd.jvp(fd.grad(f), (x,), (t,))[1]
    _require_close(product, np.tensordot(hessian, t, x.ndim))
    _require_close(fd.jacobian(f)(x), gradient)


def _unless_refused(f: Function, x: Any) -> Any:
    try:
        return f(x)
    except (UnsupportedNumPyError, ConcreteValueError):
        return None


def _require_close(found: Any, expected: Any) -> None:
    if found is not None:
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.slow
@examples(30, 450)
@given(programs(12 if SLOW else 8), arrays())
def test_a_program_that_changes_arrays_computes_what_numpy_does(program: Program, x: Any) -> None:
    _require_numpys_values(program, x)


@settings(max_examples=settings().max_examples * 3)
@given(programs(8), arrays())
def test_plain_arrays_of_what_is_changed_are_numpys_too(program: Program, x: Any) -> None:
    start, steps = program
    exported = [("exported", digits) for _, digits in steps]
    between = [step for pair in zip(exported, steps, strict=True) for step in pair]
    _require_numpys_values((start, between), x, exports=True)


@examples(2, 310)
@given(programs(8 if SLOW else 4), arrays(("f8",)))
def test_its_derivatives_are_those_of_a_complex_step(program: Program, x: Any) -> None:
    _require_derivatives(program, x)
