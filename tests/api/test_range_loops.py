"""Under `jit`, ``for`` loops over ranges run as often as values decide, also as never before."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling import executables
from funcdiff.errors import ConcreteValueError, RecompilationWarning

FD: Any = fd


def newton(a: Any) -> Any:
    x = 9.0 * a
    for _ in range(50):
        step = (x * x - a) / (2.0 * x)
        x = x - step
        if abs(step) < 1e-10:
            break
    return x


def ends_by_its_count(a: Any) -> Any:
    x = 9.0 * a
    for _ in range(2, 8):
        x = 0.5 * (x + a / x)
        if abs(x * x - a) < 1e-3 * a:
            break
    else:
        x = -x * a
    return x * a


def bisection(a: Any, steps: int = 12) -> Any:
    low, high = 0.0 * a, 0.0 * a + 4.0
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if middle * middle > a:
            high = middle
        else:
            low = middle
    return low * a + high


def returns_within(a: Any) -> Any:
    x = a
    for _ in range(3, 40, 2):
        x = 1.2 * x + 0.05
        if x > 9.0:
            return np.sin(x)
    return -x


def two_exits(a: Any) -> Any:
    x = a
    for _ in range(30):
        x = 1.2 * x
        if x > 20.0:
            break
        y = np.cos(3.0 * x)
        if y < -0.95:
            return y
        x = x + 0.1 * y
    return x


def goes_on_early(a: Any) -> Any:
    x, total = a, 0.0 * a
    for _ in range(12):
        x = np.cos(3.0 * x) + a
        if x < a:
            continue
        total = total + x
        if total > 6.0:
            break
    return total * a


def counts_down(a: Any) -> Any:
    x = a
    for _ in range(9, 1, -2):
        x = 1.5 * x + 0.2
        if x > 7.0:
            break
    return x * a


def within_a_helper(a: Any) -> Any:
    def grown(z: Any, most: int) -> Any:
        for _ in range(most + 1):
            if z > 4.0:
                break
            z = 1.3 * z
        return z

    return grown(a, 6) + grown(0.5 * a, 3) * a


def a_while_within(a: Any) -> Any:
    total = a
    for _ in range(4):
        x = total
        while abs(x * x - a) > 1e-6:
            x = 0.5 * (x + a / x)
        total = total + x
        if total > 6.0:
            break
    return total


def one_within_another(a: Any) -> Any:
    total = a
    for i in range(3):
        x = total
        for _ in range(15):
            x = 0.5 * (x + a / x)
            if abs(x * x - a) < 1e-7:
                break
        total = total + x * (1 + i)
        if total > 9.0:
            break
    return total


def a_bound_that_is_computed(a: Any) -> Any:
    x = a
    for _ in range(int(np.floor(a)) + 3):
        x = 1.4 * x + 0.1
        if x > 9.0:
            break
    return x


def as_many_as_elements(a: Any) -> Any:
    matrix = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
    b = np.stack([a, 1.0 + a, 2.0 * a])
    x, r = 0.0 * b, b
    p, squares = r, r @ r
    for _ in range(len(b)):
        q = matrix @ p
        step = squares / (p @ q)
        x, r = x + step * p, r - step * q
        before, squares = squares, r @ r
        if squares < 1e-4 * a:
            break
        p = r + squares / before * p
    return x[0] * a


def by_shapes(a: Any) -> Any:
    x, table = a, np.ones((2, 7))
    for _ in range(table.shape[1] * table.ndim - table.shape[-2] + len(table)):
        x = 1.2 * x + 0.05
        if x > 9.0:
            break
    return x


ROLLED = [
    newton, ends_by_its_count, bisection, returns_within, two_exits, goes_on_early, counts_down,
    within_a_helper, a_while_within, as_many_as_elements, by_shapes,
]  # fmt: skip

# ---- loops whose iterations are not alike, or that begin more than once --------------------------


def the_number_is_read(a: Any) -> Any:
    x = a
    for k in range(12):
        x = 1.3 * x + 0.1 * k
        if x > 9.0:
            break
    return x


def the_number_is_returned(a: Any) -> Any:
    x, k = a, 0
    for k in range(12):  # noqa: B007
        x = 1.3 * x
        if x > 9.0:
            break
    return x * k


def the_number_is_stored(a: Any) -> Any:
    x = a
    for k in range(12):
        x = 1.3 * x
        if x > 5.0:
            k = 2 * k
            x = x + k
        if x > 9.0:
            break
    return x


def the_number_is_captured(a: Any) -> Any:
    x = a
    for k in range(12):
        x = (lambda: x * (1.1 + 0.02 * k))()
        if x > 9.0:
            break
    return x


def two_of_one_name(a: Any) -> Any:
    x = a
    for _ in range(3):
        for _ in range(4):
            x = 1.2 * x
            if x > 3.0:
                break
        x = 0.9 * x + 0.2
        if x > 4.0:
            break
    return x


def one_behind_another(a: Any) -> Any:
    x = a
    for _ in range(9):
        x = 1.2 * x
        if x > 3.0:
            break
    for _ in range(9):
        x = 0.8 * x
        if x < 1.0:
            break
    return x


def around_it_a_while(a: Any) -> Any:
    x, total = a, 0.0 * a
    while total < 9.0:
        for _ in range(3):
            x = np.cos(x) + a
            total = total + x * x
            if total > 7.0:
                break
        total = total + 0.5
    return total * x


def becomes_plain(a: Any) -> Any:
    """Behind some looks nothing is traced, so that nobody sees how often the loop goes on."""
    x, total = a, a
    for _ in range(9):
        x = 1.5 * x
        total = total + 1.0
        if x > 6.0:
            x = 0.0
        if x > 100.0:
            break
    return total


def plain_again(a: Any) -> Any:
    total, done = a, 0.0
    for _ in range(3):
        x = a if done < 0.5 else 0.0
        for _k in range(6):
            total = total + 1.0
            if x > 4.0:
                done = 1.0
                break
            x = 2.0 * x if x > -1.0 else 0.0
            if total > 9.0:
                x = -9.0
    return total * a


def counts_behind_it(a: Any) -> Any:
    x, rounds = a, 0
    for _ in range(9):
        x = 1.3 * x
        if x > 6.0:
            rounds += 1
    return x * rounds


def ends_without_a_look(a: Any) -> Any:
    x, flag = a, False
    for _ in range(9):
        if flag:
            x = x + 1.0
            continue
        x = 1.5 * x
        if x > 5.0:
            flag = True
    return x


def compares_lists(a: Any) -> Any:
    x = a
    for _ in range(9):
        x = 1.3 * x
        if [x > 5.0, 1] != [False, 1]:
            break
    return x


def compares_lists_in_order(a: Any) -> Any:
    """One instruction asks whether numbers are equal, and then which one is less."""
    x, total = a, a
    for _ in range(7):
        x, total = 1.3 * x, total + 1.0
        if [x, 1.0] <= [5.0, 2.0]:
            x = x + 0.1
        elif total > 6.0:
            break
    return x + total


def compares_lists_of_flags(a: Any) -> Any:
    x, total = a, a
    for _ in range(9):
        x, total = 1.3 * x, total + 1.0
        if [x > 5.0, total > 5.0, x > 7.0] == [False, False, False]:
            total = total + 0.2
    return x + total


def over_a_list(a: Any) -> Any:
    x = a
    for factor in [1.1, 1.4, 1.2, 1.7, 1.3, 1.5]:
        x = factor * x
        if x > 5.0:
            break
    return x


def bounds_that_change(a: Any) -> Any:
    x, n = a, 3
    for _ in range(n):
        n = 7
        x = 1.2 * x
        if x > 4.0:
            break
    for _ in range(n):
        x = 1.1 * x
        if x > 5.0:
            n = 2
    return x * n


_WITH_ITS_OWN_RANGE = """
def not_the_range_of_python(a):
    x = a
    for _ in range(5):
        x = 1.4 * x
        if x > 9.0:
            break
    return x
"""
_NAMES: dict[str, Any] = {"range": lambda n: [0, 1, 2, 3][:n]}
exec(_WITH_ITS_OWN_RANGE, _NAMES)
not_the_range_of_python = _NAMES["not_the_range_of_python"]


def a_factor_that_halves(a: Any) -> Any:
    x = 2.0 * a
    for _ in range(20):
        slope, t = 4.0 * x**3 - 1.0, 1.0
        if abs(slope) < 1e-3:
            break
        while (x - t * slope) ** 4 - (x - t * slope) > x**4 - x - 0.3 * t * slope * slope:
            t *= 0.5
        x = x - t * slope
    return x * a


def goes_on_unseen(a: Any) -> Any:
    """Behind the last look of one kind the loop goes on, and is left or ends by its count."""
    x, total = a, a
    for _ in range(6):
        x = 1.5 * x
        total = total + 1.0
        if x > 6.0:
            x, total = 0.0, 6.5 + 0.0 * a
        if x > 100.0:
            break
        if total > 9.0:
            break
    return total


def is_left_as_it_ends(a: Any) -> Any:
    """Behind the last look the loop is left, or ends: what is looked at next is the same."""
    x, y = 1.0, a
    for _ in range(6):
        if x > 4.0:
            return -x
        x = x * (1.0 + 0.2 * a)
        if np.cos(y) > 2.0:
            break
        y = x * a
    if x > 4.0:
        return x
    return x * a


def skips(a: Any) -> Any:
    """Some iterations have no look, since nothing is traced there."""
    x, total = a, a
    for _ in range(7):
        total = total + 1.0
        x = 0.0 if x > 3.0 else 0.7 * total * a
    return total * x


def begins_again(a: Any) -> Any:
    """A look is at the first iteration once, and at the second one when the loop begins again."""
    x, kind, total = a, 1, a
    while total < 12.0:
        for _ in range(2):
            total = total + 1.0
            if kind == 1:
                if x > 3.0:
                    total = total + 0.3
                kind = 2
            elif kind == 0:
                kind = 1
        kind, x = 0, 0.5 * total
    return total * a


def is_left_before_it_is_looked_at(a: Any) -> Any:
    x = a
    for _ in range(7):
        x = 1.3 * x
        if x > 8.0:
            return x * a
        if x > 2.0:
            x = x + 0.2
            if x > 6.0:
                break
    return -x


def _noted(x: Any, numbers: Any) -> Any:
    for _ in range(8):
        if x > 6.0:
            break
        numbers[0] = x
        numbers = [0.0]
        x = 1.3 * x
    return x


def a_list_of_the_caller_is_written_to_once(a: Any) -> Any:
    numbers = [0.0]
    return _noted(a, numbers) + numbers[0]


def _grown_in_turn(these: Any, those: Any) -> Any:
    for _ in range(8):
        if these[0] > 4.0:
            break
        these *= 1.3
        these, those = those, these
    return these[0]


def arrays_of_the_caller_swap_places(a: Any) -> Any:
    """How often they did decides which one the caller has by which name."""
    one, two = a * np.array([1.0, 2.0]), (np.cos(5.0 * a) + a) * np.array([1.0, 2.0])
    return _grown_in_turn(one, two) + one[0] - 2.0 * two[0]


_ZEROS = np.zeros(2)


def a_plain_view_is_written_to(a: Any) -> Any:
    """What it is a view of has what is written to it, in the first iteration."""
    whole, part, x = _ZEROS, _ZEROS[:], a
    for _ in range(8):
        if x > 4.0:
            break
        part[0] = 1.0
        x = x * (1.2 + whole[0])
        part[0] = 0.0
        part = _ZEROS.copy()
    return x


OTHERS = [
    one_within_another, a_bound_that_is_computed, the_number_is_read, the_number_is_returned,
    the_number_is_stored, the_number_is_captured, two_of_one_name, one_behind_another,
    around_it_a_while, becomes_plain, plain_again, counts_behind_it, ends_without_a_look,
    compares_lists, compares_lists_in_order, compares_lists_of_flags, over_a_list,
    bounds_that_change, not_the_range_of_python, a_factor_that_halves,
    is_left_before_it_is_looked_at, goes_on_unseen, begins_again, is_left_as_it_ends, skips,
    a_list_of_the_caller_is_written_to_once, arrays_of_the_caller_swap_places,
    a_plain_view_is_written_to,
]  # fmt: skip
POINTS = [1.7, 0.9, 2.6, 0.4, 1.1, 3.3, 0.7, 2.1, 0.3, 1.4, 2.9, 0.5, 0.02, 6.5, 1.25, 1.5]


@pytest.fixture(params=["_FEW", "_LONG"])
def early(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Look for loops after two ways, or in the first one."""
    monkeypatch.setattr(executables, request.param, 2)
    return str(request.param)


def second(f: Any) -> Any:
    return FD.grad(FD.grad(f))


@pytest.mark.thinned(48)
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "transform",
    [
        pytest.param(lambda f: f, id="f"),
        pytest.param(FD.grad, id="grad", marks=pytest.mark.thinned(6)),
        pytest.param(second, id="second", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("f", [*ROLLED, *OTHERS], ids=lambda f: f.__name__)
def test_loops_give_what_python_gives(f: Any, transform: Any, early: str) -> None:
    plain = transform(f)
    expected = {a: plain(a) for a in POINTS}
    orders = [sorted(POINTS, reverse=True), [*POINTS, *POINTS[:4]], sorted(POINTS)]
    for points in orders[: 1 if transform is second or early == "_LONG" else 3]:
        compiled = FD.jit(transform(f))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RecompilationWarning)
            for a in points:
                message = f"{a} of {points}"
                np.testing.assert_allclose(compiled(a), expected[a], 1e-8, 1e-10, err_msg=message)


SHARED = [
    a_list_of_the_caller_is_written_to_once, arrays_of_the_caller_swap_places,
    a_plain_view_is_written_to,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("early")
def test_what_others_have_is_written_to_as_python_does(f: Any) -> None:
    def two_ways(a: Any, b: Any) -> Any:
        return f(a + 0.1) if b > 0.0 else f(a)

    rng = np.random.default_rng(5)
    for _ in range(12):
        compiled = FD.jit(two_ways, engine="numpy")
        long = rng.choice([4.5, 3.1, 2.4, 6.1], 5)
        for a in (*long, *rng.choice([6.1, 3.1, 1.5, 0.5], 5)):
            b = rng.normal()
            np.testing.assert_allclose(compiled(a, b), two_ways(a, b), 1e-9, err_msg=f"{a}, {b}")


@pytest.mark.thinned(6)
@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
@pytest.mark.usefixtures("early")
def test_numbers_of_iterations_that_were_never_seen_are_no_new_ways(f: Any) -> None:
    compiled = FD.jit(f)
    for a in (*POINTS, 2.3, 1.9, 0.8):
        compiled(np.float64(a))
    before = sum(compiled.cache_info().misses.values())
    for a in np.linspace(0.35, 3.15, 40):
        np.testing.assert_allclose(compiled(a), f(a), rtol=1e-8)
    assert sum(compiled.cache_info().misses.values()) - before <= 3


@pytest.mark.usefixtures("early")
def test_a_count_of_the_loop_that_is_given_is_part_of_what_is_kept() -> None:
    compiled = FD.jit(bisection, static_argnames="steps")
    for steps in (0, 1, 2, 30):
        for a in POINTS:
            np.testing.assert_allclose(compiled(a, steps=steps), bisection(a, steps), rtol=1e-9)


@pytest.mark.thinned(6)
@pytest.mark.parametrize("f", [newton, bisection, goes_on_early, ends_by_its_count])
@pytest.mark.usefixtures("early")
def test_what_is_compiled_has_all_derivatives(f: Any) -> None:
    compiled = FD.jit(f)
    for a in POINTS:
        compiled(a)
    for a in (1.3, 0.6):
        np.testing.assert_allclose(FD.grad(compiled)(a), FD.grad(f)(a), rtol=1e-8)
        np.testing.assert_allclose(_pushed(compiled)(a), _pushed(f)(a), rtol=1e-8)
        np.testing.assert_allclose(second(compiled)(a), second(f)(a), rtol=1e-7, atol=1e-9)


def _pushed(f: Any) -> Any:
    return lambda a: FD.jvp(f, (a,), (1.0,))[1]


@pytest.mark.slow
@pytest.mark.parametrize("f", [newton, bisection, goes_on_early, ends_by_its_count])
@pytest.mark.usefixtures("early")
def test_loops_have_all_derivatives(f: Any) -> None:
    assert_all_derivatives(f, "numpy")


def assert_all_derivatives(f: Any, engine: str) -> None:
    """Compare derivatives of both modes and orders of a function with a loop, compiled and not."""
    for once, twice in itertools.product((FD.grad, _pushed), repeat=2):
        for transform in (once, lambda f, once=once, twice=twice: twice(once(f))):
            plain, compiled = transform(f), FD.jit(transform(f), engine=engine)
            for a in map(np.float64, (*POINTS, 2.3, 1.9)):
                np.testing.assert_allclose(compiled(a), plain(a), rtol=1e-7, atol=1e-9)
            info = compiled.cache_info()
            assert info.leaves <= 6
            assert not info.eager


@pytest.mark.slow
@pytest.mark.parametrize("f", [newton, bisection, goes_on_early, returns_within, a_while_within])
@pytest.mark.usefixtures("early")
def test_batches_are_traced_by_what_all_examples_agree_on(f: Any) -> None:
    values, slopes = FD.jit(FD.vmap(f)), FD.jit(FD.vmap(FD.grad(f)))
    agreed = 0
    for a in (*POINTS, *POINTS[:4]):
        batch = a + np.array([0.0, 1e-9, 2e-9])
        try:
            found = values(batch)
        except ConcreteValueError:
            continue
        agreed += 1
        np.testing.assert_allclose(found, [f(x) for x in batch], rtol=1e-9)
        np.testing.assert_allclose(slopes(batch), [FD.grad(f)(x) for x in batch], rtol=1e-8)
    assert agreed > 5
