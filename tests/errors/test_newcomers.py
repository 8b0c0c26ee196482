"""What people write who know NumPy, PyTorch or JAX: told what it is, where, and the cure."""

import functools
import logging
import math
import re
import statistics
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, interpolate, linalg, sparse, special, stats

import funcdiff as fd
from funcdiff.errors import (
    ConcreteValueError,
    CotangentError,
    InputError,
    LostDerivativeError,
    OutputError,
    UnsupportedNumPyError,
)

X = np.array([1.0, 2.0, 3.0])
A = np.diag(X)
HERE = Path(__file__).name


def _nothing_returned(x: Any) -> Any:
    x.sum()


LOST: dict[str, tuple[Callable[[Any], Any], str]] = {
    "math by its own name": (lambda x: math.lgamma(x[0]), r"scipy\.special\.gammaln\(x\), not"),
    "math by another name": (lambda x: math.fsum(x), r"np\.sum\(x\), not math\.fsum\(x\)"),
    "statistics": (lambda x: statistics.fmean(x), r"np\.mean"),
    "a dtype": (lambda x: np.complex128(x[0]), r"x\.astype\(np\.complex128\)"),
    "a masked array": (lambda x: np.ma.masked_array(x, x > 1), r"np\.where"),
    "nested lists": (lambda x: np.stack([[x[0]], [x[1]]]), r"funcdiff\.numpy\.array"),
    "np.r_": (lambda x: np.r_[x, 1.0], r"function of that name in\s+funcdiff\.numpy"),
    "scipy.linalg": (lambda x: linalg.inv(x * A), r"use np\.linalg"),
    "a decorated function": (lambda x: linalg.cho_factor(x * A), r"use np\.linalg"),
    "scipy.integrate": (lambda x: integrate.trapezoid(x), r"np\.trapezoid"),
    "scipy.interpolate": (lambda x: interpolate.CubicSpline(X, X)(x), r"np\.interp"),
    "scipy.sparse": (lambda x: sparse.csr_matrix(A) @ x, r"A\.toarray\(\)"),
    "scipy.special": (lambda x: special.softmax(x), r"fd\.scipy\.special"),
    "scipy.stats": (lambda x: stats.norm.logpdf(x), "formula of the density"),
}


@pytest.mark.parametrize("mistake", LOST)
def test_a_lost_derivative_is_told_with_what_would_keep_it(mistake: str) -> None:
    function, cure = LOST[mistake]
    with pytest.raises(LostDerivativeError, match=cure) as caught:
        fd.grad(lambda x: np.sum(function(x)))(X)
    assert HERE in str(caught.value)


OTHERS: dict[str, tuple[type[Exception], Callable[[], Any], str]] = {
    "no return": (OutputError, lambda: fd.grad(_nothing_returned)(X), "without a return statement"),
    "frompyfunc": (
        UnsupportedNumPyError,
        lambda: fd.grad(lambda x: np.sum(np.frompyfunc(abs, 1, 1)(x)))(X),
        r"np\.frompyfunc .* fd\.vmap",
    ),
    "None": (UnsupportedNumPyError, lambda: fd.grad(lambda x: x == None)(X), "by `is`"),  # noqa: E711
    "a text": (UnsupportedNumPyError, lambda: fd.grad(lambda x: x == "a")(X), "decide by a text"),
    "a mask": (ConcreteValueError, lambda: fd.jit(lambda x: x[x > 1])(X), r"np\.where\(mask, x, y"),
    "an array of integers": (
        ConcreteValueError,
        lambda: fd.vmap(lambda k: np.array([k]))(np.arange(3)),
        r"funcdiff\.numpy\.array",
    ),
    "a list for a cotangent": (
        CotangentError,
        lambda: fd.vjp(np.sin, X)[1]([1.0, 0.0, 0.0]),  # type: ignore[arg-type]
        "Make it an array",
    ),
    "a tuple for a cotangent": (
        CotangentError,
        lambda: fd.vjp(np.sin, X)[1]((X,)),  # type: ignore[arg-type]
        "Give the array itself",
    ),
    "a list of small integers": (
        InputError,
        lambda: fd.grad(lambda p: p[0] * p[1])([1, 2.0]),
        r"such as 1\.0",
    ),
    "a norm as a method": (AttributeError, lambda: fd.grad(lambda x: x.norm())(X), "linalg.norm"),
}


@pytest.mark.parametrize("mistake", OTHERS)
def test_a_mistake_of_a_newcomer_is_told_with_its_cure(mistake: str) -> None:
    error, wrong, cure = OTHERS[mistake]
    with pytest.raises(error, match=cure):
        wrong()


UNHASHABLE: dict[str, Callable[[Any], Any]] = {
    "a key": lambda x: {x: 1.0}[x],
    "a member": lambda x: x if x in {1.0, 2.0} else 2 * x,
    "an argument of a cached function": lambda x: functools.cache(np.sin)(x),
}


@pytest.mark.parametrize("use", UNHASHABLE)
@pytest.mark.parametrize("x", [2.0, np.array(2.0)], ids=["number", "array"])
def test_a_traced_array_is_unhashable_and_the_line_is_named(use: str, x: Any) -> None:
    with pytest.raises(TypeError, match="unhashable type: a traced array") as caught:
        fd.grad(UNHASHABLE[use])(x)
    assert HERE in str(caught.value)


def test_what_the_standard_library_asks_for_is_told_at_the_users_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = logging.Logger("newcomer")
    log.addHandler(logging.StreamHandler())

    def f(x: Any) -> Any:
        log.warning("sum %.2f", np.sum(x))
        return np.sum(x)

    np.testing.assert_array_equal(fd.grad(f)(X), np.ones(3))
    shown = capsys.readouterr().err
    assert 'log.warning("sum %.2f", np.sum(x)) met a traced array' in shown
    assert f"{HERE}'" in shown
    assert "Write an f-string" in shown


def test_an_installed_package_is_named_beside_the_users_line() -> None:
    """A package such as pandas, which makes plain arrays of what it is given."""
    file = Path(sysconfig.get_path("purelib")) / "tables" / "columns.py"
    package: dict[str, Any] = {"__name__": "tables.columns", "np": np}
    exec(compile("def column(x):\n    return np.asarray(x)", str(file), "exec"), package)
    column = package["column"]
    with pytest.raises(LostDerivativeError) as caught:
        fd.grad(lambda x: np.sum(column(x)))(X)
    message = str(caught.value)
    assert message.startswith("column(x) met a traced array")
    assert f"{HERE}'" in message
    assert re.search(r"It is tables that makes a plain array, at '.*columns\.py', line 2", message)


@pytest.mark.parametrize(
    "transform",
    [fd.trace, fd.source, fd.cost, fd.jit, fd.vmap, fd.checkpoint, fd.tap_values, fd.tap_grads],
)
def test_a_result_in_place_of_the_function_is_told_at_once(transform: Callable[..., Any]) -> None:
    name = transform.__name__
    with pytest.raises(InputError, match=rf"fd\.{name} takes a function.*fd\.{name}\(f\)\(x\)"):
        transform(X)
