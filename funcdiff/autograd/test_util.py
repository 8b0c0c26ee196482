"""``autograd.test_util``: derivatives held against differences, in a random direction.

`funcdiff.testing.check_grads` is stricter, and says which derivative is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final

from funcdiff.autograd.spaces import make_jvp, make_vjp, vspace
from funcdiff.autograd.wrap_util import get_name, unary_to_nary
from funcdiff.errors import InputError, user_location

__all__ = [
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "make_numerical_jvp",
    "scalar_close",
]

TOL: Final = 1e-6
RTOL: Final = 1e-6
EPS: Final = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers differ by less than 1e-6, or by this fraction of their sum."""
    return bool(abs(a - b) < TOL or abs(a - b) < RTOL * abs(a + b))


def make_numerical_jvp(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """Return the function of a tangent that returns a central difference."""
    space, values = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        ahead, behind = (f(space.add(x, space.scalar_mul(v, h))) for h in (EPS / 2, -EPS / 2))
        return values.scalar_mul(values.add(ahead, values.scalar_mul(behind, -1.0)), 1.0 / EPS)

    return jvp


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Assert that a vector-Jacobian product equals a difference.

    Raises
    ------
    AssertionError
        If it does not.
    """
    vjp, y = make_vjp(f, x)
    space, values = vspace(x), vspace(y)
    t, ct = space.randn(), values.randn()
    found = space.covector(vjp(values.covector(ct)))
    assert vspace(found) == space, f"the spaces differ: {vspace(found)} and {space}"
    exact = space.inner_prod(t, found)
    numeric = values.inner_prod(ct, make_numerical_jvp(f, x)(t))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\n"
        f"analytic: {exact}\nnumeric:  {numeric}"
    )


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Assert that a Jacobian-vector product equals a difference.

    Raises
    ------
    AssertionError
        If it does not.
    """
    t = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(t)[1], make_numerical_jvp(f, x)(t))


def check_equivalent(x: Any, y: Any) -> None:
    """Assert that two containers are of the same space, and `scalar_close` in a random direction.

    Raises
    ------
    AssertionError
        If they are not.
    """
    space = vspace(x)
    assert space == vspace(y), f"the spaces differ: {space} and {vspace(y)}"
    direction = space.randn()
    products = space.inner_prod(x, direction), space.inner_prod(y, direction)
    assert scalar_close(*products), f"the values differ: {x} and {y}"


@unary_to_nary
def check_grads(
    f: Callable[[Any], Any], x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> None:
    """Assert that derivatives equal differences: ``check_grads(f, argnum, modes, order)(*args)``.

    Parameters
    ----------
    f
        Function of arrays and containers.
    modes
        "fwd", "rev" or both.
    order
        Up to which derivative.

    Raises
    ------
    AssertionError
        If they differ.
    InputError
        If a mode is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> check_grads(np.sin, modes=["rev"], order=1)(0.5)
    """
    unknown = [mode for mode in modes if mode not in ("fwd", "rev")]
    if unknown:
        raise InputError(
            f'check_grads knows no mode {unknown[0]!r}, at {user_location()}. Write "fwd" or "rev".'
        )
    checks: list[tuple[str, str, Callable[..., None], Callable[..., Any], Any]] = [
        ("fwd", "jvp", check_jvp, lambda x, v: make_jvp(f, x)(v)[1], lambda: x),
        ("rev", "vjp", check_vjp, lambda x, v: make_vjp(f, x)[0](v), lambda: f(x)),
    ]
    for mode, name, check, product_at, like in checks:
        if mode not in modes:
            continue
        check(f, x)
        if order > 1:
            product_at.__name__ = f"{name}_{get_name(f)}"
            check_grads(product_at, (0, 1), modes, order=order - 1)(x, vspace(like()).randn())


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Return a function of lists that checks all combinations of arguments and keywords."""

    def check(*choices: Sequence[Any], **options: Sequence[Any]) -> None:
        for point in product(*choices):
            for values in product(*options.values()):
                keywords = dict(zip(options, values, strict=True))
                check_grads(fun, *args, **kwargs)(*point, **keywords)

    return check
