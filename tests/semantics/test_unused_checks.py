"""What raises in the plain call raises in every transform, though nobody uses its result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from numpy.linalg import LinAlgError

import funcdiff as fd

GOOD, BAD = np.array([2.0, 0.5, 0.1]), np.array([-2.0, 0.5, 0.1])


def _check(x: Any, shift: Any = 0.1) -> Any:
    return np.linalg.cholesky(np.diag(x) + shift)


def checked(x: Any) -> Any:
    _check(x)
    return np.sum(x * x)


def checked_by_an_unused_chain(x: Any) -> Any:
    np.log(np.trace(_check(x)))
    return np.sum(np.sin(x))


def checked_in_a_branch(x: Any) -> Any:
    y = np.sum(x * x)
    if x[1] > 0.2:
        _check(x)
        y = np.sum(x)
    return y if x[2] > 0.5 else y * x[1]


def checked_in_a_while_loop(x: Any) -> Any:
    total, shift = x[1], 0.1
    while total < 3.0:
        _check(x, shift)
        total, shift = total + np.abs(x[0]), shift * 2
    return total


def checked_in_a_scan(x: Any) -> Any:
    def body(carry: Any, shift: Any) -> Any:
        _check(x, shift)
        return carry + shift, carry  # whose derivative needs nothing of the loop

    return fd.scan(body, np.sum(x), np.array([0.1, 0.2]))[0]


def checked_by_an_unused_scan(x: Any) -> Any:
    fd.scan(lambda c, shift: (c + _check(x, shift)[0, 0], c), 0.0, np.array([0.1, 0.2]))
    return np.sum(x**3)


def checked_in_a_scan_without_results(x: Any) -> Any:
    fd.scan(lambda c, shift: (c, [_check(x, shift)][1:]), (), np.array([0.1, 0.2]))
    return np.sum(x * x)


def checked_in_a_cond_without_results(x: Any) -> Any:
    fd.cond(x[1] > 0, lambda x: [_check(x)][1:], lambda x: [], x)
    return np.sum(x * x)


def checked_in_a_checkpoint_without_results(x: Any) -> Any:
    fd.checkpoint(lambda x: [_check(x)][1:])(x)
    return np.sum(x * x)


def checked_in_a_cond(x: Any) -> Any:
    return fd.cond(x[1] > 0, checked, np.sum, x)


def checked_by_an_unused_call(x: Any) -> Any:
    fd.jit(checked)(x)
    return np.sum(x)


def checked_by_an_unused_gradient(x: Any) -> Any:
    fd.grad(lambda x: np.sum(_check(x)))(x)
    return np.sum(x * x)


FUNCTIONS: Final = (
    checked, checked_by_an_unused_chain, checked_in_a_branch, checked_in_a_while_loop,
    checked_in_a_scan, checked_by_an_unused_scan, checked_in_a_cond, checked_by_an_unused_call,
    checked_by_an_unused_gradient, checked_in_a_scan_without_results,
    checked_in_a_cond_without_results, checked_in_a_checkpoint_without_results,
)  # fmt: skip

Function = Callable[[Any], Any]

TRANSFORMS: Final[dict[str, Callable[[Function], Function]]] = {
    "jit": fd.jit,
    "grad": fd.grad,
    "jit of grad": lambda f: fd.jit(fd.grad(f)),
    "grad of jit": lambda f: fd.grad(fd.jit(f)),
    "jvp": lambda f: lambda x: fd.jvp(f, (x,), (x,)),
    "vjp": lambda f: lambda x: fd.vjp(f, x)[1](1.0),
    "linearize": lambda f: lambda x: fd.linearize(f, x)[1](x),
    "vmap": lambda f: lambda x: fd.vmap(f)(np.stack([x, x])),
    "vmap of grad": lambda f: lambda x: fd.vmap(fd.grad(f))(np.stack([x, x])),
    "jit of vmap": lambda f: lambda x: fd.jit(fd.vmap(f))(np.stack([x, x])),
    "forward": lambda f: fd.jacobian(f, mode="forward"),
    "sparse": lambda f: fd.jacobian(lambda x: np.stack([f(x)]), sparse=True),
    "hessian": fd.hessian,
    "jit of hessian": lambda f: fd.jit(fd.hessian(f)),
    "sparse hessian": lambda f: fd.hessian(f, sparse=True),
    "forward over forward": lambda f: fd.jacobian(
        fd.jacobian(f, mode="forward"), mode="forward"
    ),
}  # fmt: skip


@pytest.mark.thinned(48)
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS)
def test_unused_checks_raise_under_every_transform(f: Function, name: str) -> None:
    transformed = TRANSFORMS[name](f)
    for _ in range(3):
        transformed(GOOD)
        with pytest.raises(LinAlgError):
            transformed(BAD)


def test_unused_checks_raise_in_later_calls() -> None:
    for name in ("grad", "jit of grad", "hessian"):
        transformed = TRANSFORMS[name](checked)
        for _ in range(30):
            transformed(GOOD)
        with pytest.raises(LinAlgError):
            transformed(BAD)


def test_a_check_of_a_way_that_was_not_the_first_raises() -> None:
    def f(x: Any) -> Any:
        if x[1] > 0:
            return np.sum(x)
        np.linalg.cholesky(np.diag(x[[0, 0]]))
        return 2.0 * np.sum(x)

    for compiled in (fd.jit(f), fd.jit(fd.grad(f))):
        compiled(GOOD)
        compiled(np.array([2.0, -0.5, 0.1]))
        with pytest.raises(LinAlgError):
            compiled(np.array([-2.0, -0.5, 0.1]))


def test_the_line_of_an_unused_check_is_named() -> None:
    with pytest.raises(LinAlgError) as caught:
        fd.grad(checked)(BAD)
    assert "in _check" in str(caught.value.__notes__)


def test_what_was_evaluated_already_is_not_computed_again() -> None:
    def f(x: Any) -> Any:
        if np.linalg.slogdet(np.diag(x))[1] > -9.0:
            np.linalg.inv(np.diag(x)).shape  # noqa: B018
        return np.sum(x * x)

    assert "slogdet" not in str(fd.trace(fd.grad(f))(GOOD))


def test_the_text_of_a_program_has_its_checks() -> None:
    assert "np.linalg.cholesky" in fd.source(fd.grad(checked))(GOOD)
