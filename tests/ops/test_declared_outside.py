"""An operation that is declared outside of the library, on one record, is complete with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import Facts, Params, Primitive, primitives
from funcdiff.core.recording.builder import bind
from funcdiff.core.tracer import Tracer
from funcdiff.ops.axes.reductions import reduce_max
from funcdiff.ops.families import elementwise, linear
from funcdiff.space import Axes, abstract_reduction, add, broadcast, kept_axes, mul, reduce_sum
from funcdiff.testing import check_rules


class Shift(Params):
    """By how many places elements move along an axis."""

    places: int
    axis: int


class Declared(NamedTuple):
    """An operation as a function of tracers, its meaning in NumPy, and whether it is linear."""

    f: Callable[..., Any]
    meaning: Callable[..., Any]
    linear: bool = False


def _softsign() -> Declared:
    """Declare an elementwise function: one line."""
    softsign = elementwise(
        "outside_softsign", lambda x: x / (1 + np.abs(x)), lambda x, y: (1 - np.abs(y)) ** 2
    )
    return Declared(softsign, lambda x: x / (1 + np.abs(x)))


def _rolled() -> Declared:
    """Declare a structural operation: one record."""

    def rolled(x: Tracer, places: int, axis: int) -> Tracer:
        return bind(primitive, Shift(places, axis), x)[0]

    primitive: Primitive[Shift] = linear(
        "outside_roll",
        Shift,
        abstract=lambda _p, x: (x,),
        impl=Implementation(lambda p: lambda x: np.roll(x, p.places, p.axis), fresh=True),
        transpose=lambda p, _types, cts, _xs: [rolled(cts[0], -p.places, p.axis)],
        facts=Facts("moved"),
    )
    return Declared(lambda x: rolled(x, 1, 0), lambda x: np.roll(x, 1, 0), linear=True)


def _sum_of_squares() -> Declared:
    """Declare a reduction: one record."""

    def squares(x: Tracer, axes: tuple[int, ...]) -> Tracer:
        return bind(primitive, Axes(axes), x)[0]

    def forward(p: Axes, xs: Any, ts: Any) -> Any:
        (x,), (t,) = xs, ts
        total = reduce_sum(mul(x, t), p.axes)
        return [squares(x, p.axes)], [add(total, total)]

    primitive: Primitive[Axes] = Primitive(
        "outside_sum_of_squares",
        Axes,
        abstract=abstract_reduction,
        impl=Implementation(lambda p: lambda x: np.add.reduce(x * x, axis=p.axes), fresh=True),
        jvp=forward,
    )
    return Declared(lambda x: squares(x, (0,)), lambda x: np.sum(x * x, axis=0))


DECLARATIONS = {"softsign": _softsign, "rolled": _rolled, "sum of squares": _sum_of_squares}


@pytest.fixture(params=DECLARATIONS, scope="module")
def declared(request: pytest.FixtureRequest) -> Iterator[Declared]:
    """Give an operation that no table of the library names; forget it afterwards."""
    before = set(primitives)
    yield DECLARATIONS[request.param]()
    for name in set(primitives) - before:
        del primitives[name]
    fd.clear_caches()


X = np.array([[0.3, -1.2, 0.7], [2.0, -0.4, 0.1]])
WEIGHTS = np.array([0.7, -0.2, 1.1])


@pytest.mark.thinned(2)
def test_its_rules_keep_every_promise(declared: Declared) -> None:
    check_rules(declared.f, X)


def test_every_mode_and_tier_gives_its_derivative(declared: Declared) -> None:
    def loss(f: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda x: np.sum(np.sin(f(x)) * WEIGHTS)

    def spelled_out(x: Any) -> Any:
        return loss(declared.meaning)(x)

    expected = fd.grad(spelled_out)(X)
    gradient, compiled = fd.grad(loss(declared.f)), fd.jit(fd.grad(loss(declared.f)))
    for _ in range(8):
        np.testing.assert_allclose(gradient(X), expected, rtol=1e-13)
        np.testing.assert_allclose(compiled(X), expected, rtol=1e-13)
    hessian = fd.hessian(loss(declared.f))(X)
    np.testing.assert_allclose(hessian, fd.hessian(spelled_out)(X), rtol=1e-12, atol=1e-13)
    stack = np.stack([X, 2 * X])
    np.testing.assert_allclose(fd.vmap(gradient)(stack), [gradient(X), gradient(2 * X)])


def test_its_program_is_text_that_reads_back_and_source_that_runs(declared: Declared) -> None:
    gradient = fd.grad(lambda x: np.sum(declared.f(x) * WEIGHTS))
    program = fd.trace(gradient)(X)
    assert fd.parse(str(program)) == program
    scope: dict[str, Any] = {}
    text = str(fd.source(gradient)(X))
    exec(text, scope)
    functions = [v for v in scope.values() if callable(v) and hasattr(v, "__code__")]
    np.testing.assert_array_equal(functions[-1](X), gradient(X))
    assert "import funcdiff" not in text


def test_its_cost_is_counted(declared: Declared) -> None:
    assert fd.cost(declared.f)(X).flops > 0 or declared.linear
    assert fd.cost(fd.grad(lambda x: np.sum(declared.f(x) * WEIGHTS)))(X).equations > 0


def test_masked_elements_contribute_true_zeros(declared: Declared) -> None:
    def masked(x: Any) -> Any:
        return np.sum(declared.f(np.where(x > 0, np.sqrt(x), 0.0)) * WEIGHTS)

    x = np.array([[0.3, 0.0, 0.7], [2.0, 0.0, -1.0]])
    for derivative in (fd.grad(masked), fd.jacfwd(masked), fd.jit(fd.grad(masked))):
        found = derivative(x)
        assert np.all(np.isfinite(found))
        assert not np.any(found[x <= 0])


def test_a_maximum_of_it_is_still_one_of_ours(declared: Declared) -> None:
    check_rules(lambda x: reduce_max(declared.f(x), (0,)) if declared.f(x).ndim else x, X, order=1)


def test_broadcasting_around_it_keeps_the_type(declared: Declared) -> None:
    def spread(x: Any) -> Any:
        y = declared.f(x)
        return broadcast(y, (2, *y.shape), kept_axes(y.ndim + 1, (0,)))

    jitted = fd.jit(spread)
    for _ in range(3):
        assert jitted(X).shape == (2, *np.shape(declared.meaning(X)))
