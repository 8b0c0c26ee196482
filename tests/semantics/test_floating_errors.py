"""Floating-point errors that NumPy is to raise are raised where the plain call raises them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from random import Random
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.errors import ConcreteValueError
from tests.semantics.floating_errors import POINTS, Outcome, generated, outcome
from tests.together import together

Function = Callable[[Any], Any]

ONES: Final = np.ones(3)


def _rows(x: Any) -> Any:
    return np.stack([x, x])


def _loop(f: Function, x: Any) -> Any:
    return fd.scan(lambda total, _: (total * 0.0 + f(x), None), 0.0, None, length=1)[0]


def _first(f: Function) -> Function:
    return lambda x: f(x)[0]


OF_VALUES: Final[dict[str, Callable[[Function], Function]]] = {
    "value_and_grad": lambda f: lambda x: fd.value_and_grad(f)(x)[0],
    "vjp": lambda f: lambda x: fd.vjp(f, x)[0],
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (ONES,))[0],
    "linearize": lambda f: lambda x: fd.linearize(f, x)[0],
    "jit": fd.jit,
    "jit of grad": lambda f: _first(fd.jit(fd.value_and_grad(f))),
    "vmap": lambda f: lambda x: fd.vmap(f)(_rows(x))[1],
    "vmap of grad": lambda f: lambda x: fd.vmap(fd.value_and_grad(f))(_rows(x))[0][1],
    "grad of checkpoint": lambda f: lambda x: fd.value_and_grad(fd.checkpoint(f))(x)[0],
    "scan": lambda f: lambda x: fd.scan(lambda c, row: (c, f(row)), 0.0, _rows(x))[1][0],
}
"""What gives the value of a function on the way to a derivative, or as it is."""

DERIVATIVES: Final[dict[str, Callable[[Function], Function]]] = {
    "grad": fd.grad,
    "jacobian": lambda f: fd.jacobian(f, mode="forward"),
    "hessian": fd.hessian,
    "grad of grad": lambda f: fd.grad(lambda x: fd.grad(f)(x)[0]),
    "grad of jit": lambda f: fd.grad(fd.jit(f)),
    "grad of vmap": lambda f: fd.grad(lambda x: fd.vmap(f)(_rows(x))[0]),
    "grad of scan": lambda f: fd.grad(lambda x: _loop(f, x)),
}
WITHOUT_VALUES: Final = {"vmap", "vmap of grad", "scan", "grad of vmap", "grad of scan"}
"""Where a refusal is as good."""

AROUND: Final[tuple[dict[str, Any], ...]] = (
    {}, {"all": "raise"}, {"divide": "raise"}, {"over": "raise", "invalid": "raise"},
)  # fmt: skip


def _agrees(name: str, found: Outcome, wanted: Outcome) -> bool:
    if wanted.raised or found.raised:
        return found[1:] == wanted[1:] or (
            found.raised == "ConcreteValueError" and name in WITHOUT_VALUES
        )
    return name not in OF_VALUES or np.allclose(
        found.value, wanted.value, rtol=1e-9, equal_nan=True
    )


@pytest.mark.thinned(32)
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(160))
def test_random_programs_raise_what_the_plain_call_raises(seed: int) -> None:
    program, random = generated(seed), Random(seed)
    around, points = random.choice(AROUND), random.sample(POINTS, 3)
    transforms = {**OF_VALUES, **DERIVATIVES}
    for name in random.sample(list(transforms), 3):
        with warnings.catch_warnings(), np.errstate(**{"under": "ignore", **around}):
            warnings.simplefilter("ignore")
            derived = transforms[name](program.function)
            for call in range(9):
                x = points[call % 3]
                found = outcome(program, derived, x)
                wanted = outcome(program, program.function, x)
                told = f"{name}, call {call}, {x}, {around}: {found}, not {wanted}\n{program.text}"
                assert _agrees(name, found, wanted), told
                if found.raised == "ConcreteValueError":
                    break


def _caught(x: Any) -> Any:
    try:
        with np.errstate(divide="raise"):
            return np.sum(np.log(x))
    except FloatingPointError:
        return np.sum(x) * 3.0


def _raised(x: Any) -> Any:
    with np.errstate(divide="raise"):
        y = np.log(x)
    return np.sum(y)


def _plain(x: Any) -> Any:
    return np.sum(np.log(x))


def _caught_warning(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sum(np.log(x))
        except RuntimeWarning:
            return np.sum(x) * 3.0


def _recorded_warning(x: Any) -> Any:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        y = np.log(x)
    return np.sum(x) * 3.0 if len(found) == 1 else np.sum(y)


INSIDE, ZERO = np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.0, 4.0])


@pytest.mark.slow
@together
@pytest.mark.parametrize("name", [*OF_VALUES, *DERIVATIVES])
def test_errors_raise_inside_and_around(name: str) -> None:
    transform = {**OF_VALUES, **DERIVATIVES}[name]
    raised, plain = transform(_raised), transform(_plain)
    for _ in range(3):
        with np.errstate(all="ignore"):
            plain(ZERO)
            if name == "scan":  # which does not know what is decided within
                with pytest.raises(
                    ConcreteValueError, match=r"(?s)whether log raises.*floating_errors"
                ):
                    raised(INSIDE)
            else:
                np.testing.assert_array_equal(raised(INSIDE), plain(INSIDE))
                with pytest.raises(FloatingPointError):
                    raised(ZERO)
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(raised(INSIDE), plain(INSIDE))
            for f in (raised, plain):
                with pytest.raises(FloatingPointError):
                    f(ZERO)


@together
@pytest.mark.parametrize("transform", [fd.grad, lambda f: fd.jit(fd.grad(f)),
                                       lambda f: fd.grad(fd.jit(f))])  # fmt: skip
@pytest.mark.parametrize("f", [_caught, _caught_warning, _recorded_warning])
def test_code_that_hears_of_floating_point_errors_goes_its_way(
    f: Function, transform: Callable[[Function], Function]
) -> None:
    derived = transform(f)
    for _ in range(9):
        np.testing.assert_allclose(derived(INSIDE), 1 / INSIDE)
        np.testing.assert_allclose(derived(ZERO), [3.0, 3.0, 3.0])


@pytest.mark.parametrize("calls", [0, 1, 9])
def test_what_compiled_code_leaves_out_raises_as_well(calls: int) -> None:
    def f(x: Any) -> Any:
        np.log(x)  # which nothing uses
        return 2.0 * x

    compiled = fd.jit(f)
    for _ in range(calls):
        compiled(np.ones(2))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(np.zeros(2))


def test_infinities_of_derivatives_alone_raise_nothing() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sqrt(x))

    def first_slope(x: Any) -> Any:
        return fd.grad(f)(x)[0]

    with np.errstate(all="raise"):
        for _ in range(3):
            for transform in (fd.grad, lambda f: fd.jit(fd.grad(f))):
                np.testing.assert_array_equal(transform(f)(ZERO), [0.5, np.inf, 0.25])
                np.testing.assert_array_equal(transform(first_slope)(ZERO), [-0.25, 0.0, 0.0])
