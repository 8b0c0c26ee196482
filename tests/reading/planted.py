"""Functions with a fault planted in the line that ends in ``# here``, for tests of explanations."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import funcdiff as fd

X: Final = np.array([0.5, 0.0, 2.0, -1.0])
UNIT: Final = np.array([0.2, 1.0, 0.0])
HOLED: Final = np.array([1.0, np.nan, 2.0, 3.0])
SMALL: Final = np.array([1e-10, 3e-11, 0.5, 1.0])


@dataclass(frozen=True)
class Planted:
    """A function with a fault.

    Attributes
    ----------
    f, args
        The function, and what it is called with.
    finding
        The kind of the first fault, or "masked" or "advice".
    """

    f: Callable[..., Any]
    args: tuple[Any, ...]
    finding: str

    @property
    def line(self) -> int:
        """The line with the fault."""
        lines, first = inspect.getsourcelines(self.f)
        (found,) = [first + k for k, line in enumerate(lines) if line.rstrip().endswith("# here")]
        return found


PLANTED: Final[dict[str, Planted]] = {}


def planted(finding: str, *args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function in the table."""

    def enter(f: Callable[..., Any]) -> Callable[..., Any]:
        PLANTED[f.__name__] = Planted(f, args, finding)
        return f

    return enter


# ---- values --------------------------------------------------------------------------------------


@planted("value", X)
def logarithm_of_zero(x: Any) -> Any:
    y = np.abs(x)
    z = np.log(y)  # here
    return np.sum(np.tanh(y) + z)


@planted("value", X)
def root_of_a_negative_number(x: Any) -> Any:
    shifted = x * 2.0
    scale = np.sqrt(shifted)  # here
    return np.mean(scale * x)


@planted("value", X * 1e3)
def overflow_of_a_naive_softmax(x: Any) -> Any:
    e = np.exp(x)  # here
    p = e / np.sum(e)
    return np.sum(p * x)


@planted("value", X)
def quotient_by_zero(x: Any) -> Any:
    y = x + 1.0
    w = x / y  # here
    return np.sum(w**2)


@planted("value", np.array([-800.0, 3.0]))
def logarithm_of_an_underflow(x: Any) -> Any:
    p = np.exp(x)
    q = p / (1.0 + p)
    return -np.sum(np.log(q))  # here


@planted("value", X.astype(np.float32) * np.float32(1e20))
def overflow_of_a_float32(x: Any) -> Any:
    y = x + 1
    return np.sum(y**2)  # here


@planted("value", X)
def outside_of_the_domain(x: Any) -> Any:
    angle = np.arccos(x)  # here
    return np.sum(np.cos(3 * angle))


@planted("value", X)
def fractional_power_of_a_negative_number(x: Any) -> Any:
    y = np.sin(x)
    return np.sum(y**1.5 + x)  # here


@planted("value", X)
def entropy_without_a_convention(x: Any) -> Any:
    p = np.abs(x) / np.sum(np.abs(x))
    h = np.log(p)  # here
    return -np.sum(p * h)


@planted("value", np.full(400, 9.0))
def overflow_of_a_product(x: Any) -> Any:
    y = np.sqrt(x)
    growth = np.cumprod(y * y)  # here
    return np.log(growth[-1])


@planted("value", np.array([2.0]))
def variance_of_one_number(x: Any) -> Any:
    centred = x - np.mean(x)
    return np.sum(np.var(centred, ddof=1))  # here


@planted("value", X)
def infinity_minus_infinity(x: Any) -> Any:
    far = np.exp(2000.0 * np.abs(x))  # here
    return np.sum(far - 2 * far)


@planted("value", X)
def zero_after_a_choice(x: Any) -> Any:
    safe = np.where(x > 0, x, 0.0)
    return np.sum(1.0 / safe)  # here


@planted("value", 3.0)
def body_of_a_loop(x: Any) -> Any:
    def step(level: Any, k: Any) -> Any:
        level = level - 1.0
        return level, np.log(level) * k  # here

    _, rows = fd.scan(step, x, np.arange(5.0))
    return np.sum(rows)


@planted("value", -2.0)
def branch_of_a_condition(x: Any) -> Any:
    def left(y: Any) -> Any:
        return np.sqrt(y)  # here

    return fd.cond(x < 0, left, np.sin, x)


@planted("value", 1.0)
def loop_until_too_large(x: Any) -> Any:
    def grow(y: Any) -> Any:
        return np.exp(y)  # here

    return fd.while_loop(lambda y: y < 1e300, grow, x)


@planted("value", X)
def part_that_is_computed_again(x: Any) -> Any:
    def part(y: Any) -> Any:
        return np.log(y) * 2  # here

    return np.sum(fd.checkpoint(part)(x))


@planted("value", X)
def function_of_a_function(x: Any) -> Any:
    def inner(y: Any) -> Any:
        lowest = np.min(y)
        return np.sqrt(lowest)  # here

    return inner(x) + inner(x + 5.0)


# ---- arguments and errors ------------------------------------------------------------------------


@planted("error", np.ones((3, 3)))
def singular_matrix(a: Any) -> Any:
    b = np.sum(a, axis=1)
    return np.sum(np.linalg.solve(a, b))  # here


@planted("error", -np.eye(2))
def indefinite_matrix(a: Any) -> Any:
    low = np.linalg.cholesky(a)  # here
    return np.sum(np.log(np.diag(low)))


# ---- derivatives ---------------------------------------------------------------------------------


@planted("derivative", np.abs(X))
def slope_of_a_root(x: Any) -> Any:
    y = 2.0 * x
    r = np.sqrt(y)  # here
    return np.sum(r + x)


@planted("derivative", np.abs(X))
def slope_of_a_power(x: Any) -> Any:
    y = x**0.3  # here
    return np.sum(np.sin(y))


@planted("derivative", UNIT)
def slope_at_the_end_of_an_arc(x: Any) -> Any:
    y = x * 1.0
    return np.sum(np.arcsin(y) + x)  # here


@planted("derivative", X)
def slope_of_a_cube_root(x: Any) -> Any:
    y = np.cbrt(x)  # here
    return np.sum(y + 1)


@planted("derivative", np.zeros(2))
def angle_of_the_origin(x: Any) -> Any:
    angle = np.arctan2(x[0], x[1])  # here
    return angle + x[0]


@planted("derivative", np.abs(X))
def slope_in_a_loop(x: Any) -> Any:
    def step(total: Any, row: Any) -> Any:
        root = np.sqrt(row)  # here
        return total + root, total

    return fd.scan(step, 0.0, x)[0]


@planted("derivative", 0.0)
def slope_of_the_exponent(y: Any) -> Any:
    z = (y + 0.0) ** (y - 1.0 + 1.5)  # here
    return z * 2.0


# ---- what is masked ------------------------------------------------------------------------------


@planted("masked", X)
def branch_that_is_not_taken(x: Any) -> Any:
    y = x - 0.25
    w = np.where(y > 0, np.log(y), 0.0)  # here
    return np.sum(w)


# ---- advice --------------------------------------------------------------------------------------


@planted("advice", SMALL)
def logarithm_near_one(x: Any) -> Any:
    y = x * 1.0
    return np.sum(np.log(1.0 + y))  # here


@planted("advice", SMALL)
def exponential_near_one(x: Any) -> Any:
    rate = np.exp(x) - 1.0  # here
    return np.sum(rate)


@planted("advice", np.eye(40) + 0.01, np.ones(40))
def inverse_times_a_vector(a: Any, b: Any) -> Any:
    x = np.linalg.inv(a) @ b  # here
    return np.sum(x * x)


@planted("advice", 1e6 + X * 1e-4)
def difference_of_moments(x: Any) -> Any:
    v = np.mean(x**2) - np.mean(x) ** 2  # here
    return np.exp(-np.abs(v))


@planted("advice", np.full((200_000, 2), 0.1, np.float32))
def sum_of_many_float32(x: Any) -> Any:
    total = np.sum(x, axis=0)  # here
    return total[0] - total[1] + total[0]


@planted("advice", np.full(200_000, 0.1, np.float32))
def running_sum_of_many_float32(x: Any) -> Any:
    level = np.cumsum(x)  # here
    return level[-1]
