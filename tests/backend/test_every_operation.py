"""Every operation and its derivative, traced once, are the same in all that runs programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.core.running.evaluate import Executable
from funcdiff.errors import NotDifferentiableError
from tests.backend import test_kernels, test_routines, test_source, test_unrolling
from tests.reading import test_text
from tests.rules.sample import PRIMITIVE, Sample
from tests.rules.test_rules import NAMED, cases

Check = Callable[[Program, list[Any], list[Any]], object]

BACKENDS: Final[dict[str, Check]] = {
    "source": test_source.assert_same_bits,
    "kernel in blocks": test_kernels.assert_computes,
    "machine code": partial(test_kernels.assert_computes, limits=None, native=True),
    "one function of machine code": test_routines.assert_computes,
    "unrolled code": test_unrolling.assert_computes,
    "text": test_text.assert_same_bits,
}
WHOLE: Final[dict[str, Check]] = {
    "whole kernel": partial(test_kernels.assert_computes, limits=None)
}

SMOOTH = [pytest.param(entry, id=name) for name, entry in NAMED.items() if entry.order > 0]


def assert_same_everywhere(
    program: Program, arrays: list[Any], backends: dict[str, Check] = BACKENDS
) -> None:
    """Hold every backend against the interpreter, and name all of those that differ."""
    with np.errstate(all="ignore"):
        expected = [np.copy(y)[()] for y in Executable(program).interpret(*arrays)]
    failures = []
    for name, check in backends.items():
        try:
            check(program, arrays, expected)
        except Exception as failure:
            failure.add_note(f"in what the {name} computes")
            failures.append(failure)
    if failures:
        raise ExceptionGroup("not as the interpreter", failures)


@pytest.mark.thinned(6)
@pytest.mark.sampled(3, kind=PRIMITIVE)
@pytest.mark.parametrize("case", cases(thinned=32))
def test_every_operation_is_the_same_everywhere(case: Sample) -> None:
    assert_same_everywhere(fd.trace(case.f)(*case.args), list(case.args))


@pytest.mark.slow
@pytest.mark.sampled(24, kind=PRIMITIVE)
@pytest.mark.parametrize("case", SMOOTH)
def test_every_derivative_is_the_same_everywhere(case: Sample) -> None:
    for program, args in derivatives(case):
        assert_same_everywhere(program, args, BACKENDS | WHOLE)


def derivatives(case: Sample) -> Iterator[tuple[Program, list[Any]]]:
    """Yield the program of the gradient of a sample, and its arguments, if it has a derivative."""
    args = [np.asarray(x)[()] for x in case.args]
    if not any(x.dtype.kind in "fc" for x in args):
        return
    try:
        program = fd.trace(lambda *xs: gradient(case.f, *xs))(*args)
    except NotDifferentiableError:
        return  # in a parameter
    yield program, args


def gradient(f: Any, *args: Any) -> Any:
    """Return the gradient of a sum of the results in all floating arguments."""
    places = [k for k, x in enumerate(args) if x.dtype.kind in "fc"]

    def total(*xs: Any) -> Any:
        changed = list(args)
        for k, x in zip(places, xs, strict=True):
            changed[k] = x
        ys = [y for y in fd.pytree.flatten(f(*changed))[0] if y.dtype.kind in "fc"]
        return sum((np.sum(np.real(y) * 0.5 + np.imag(y)) for y in ys), 0.0 * np.real(xs[0]).sum())

    return fd.grad(total, tuple(range(len(places))))(*(args[k] for k in places))


def test_every_backend_that_differs_is_named() -> None:
    def doubled(program: Program, arrays: list[Any], expected: list[Any]) -> None:
        np.testing.assert_array_equal(Executable(program).interpret(*arrays)[0] * 2, expected[0])

    x = np.linspace(0.0, 1.0, 3)
    program = fd.trace(lambda x: np.sin(x))(x)
    with pytest.raises(ExceptionGroup) as raised:
        assert_same_everywhere(program, [x], BACKENDS | {"spoiled one": doubled})
    (failure,) = raised.value.exceptions
    assert failure.__notes__ == ["in what the spoiled one computes"]
    assert "Max absolute difference" in str(failure)
