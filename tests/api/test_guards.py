"""Compiled functions that branch by values: every outcome is guarded, none is taken for granted."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.compiling.executables import MOST_LEAVES
from funcdiff.errors import ConcreteValueError, LostDerivativeError, RecompilationWarning

FD: Any = fd
X = np.array([0.3, -0.7, 1.2])
POINTS = [X, -X, np.zeros(3), np.array([2.0, 1.0, 0.5]), np.array([-1.0, 3.0, -2.0])]


def branch(x: Any) -> Any:
    return np.sum(x**2) if x[0] > 0 else np.prod(x) * 3.0


def early(x: Any) -> Any:
    for v in x:
        if v < 0:
            return v**3 + np.sum(x)
    return np.sum(x * x)


def loop(x: Any) -> Any:
    s, n = np.sum(x * x) + 0.5, 0
    while s < 4.0:
        s, n = s * 1.7 + 0.1 * x[1], n + 1
    return s * n


def masked(x: Any) -> Any:
    return np.sum(x[x > 0.2] ** 3) + np.sum(np.exp(x)[np.nonzero(x < 0)])


def written(x: Any) -> Any:
    y = x.copy()
    y[y < 0] = 0.1 * y[y < 0]
    return np.sum(y**3)


def ordered(x: Any) -> Any:
    return sum(k * v * v for k, v in enumerate(sorted(x))) + max(x) * min(x)


def looked_up(x: Any) -> Any:
    return x[int(np.argmax(x))] ** 3 + [2.0, 3.0, 5.0][np.argmin(x)] * x[0]


def counted(x: Any) -> Any:
    return sum((x[k] ** 2 for k in range(int(np.sum(x > 0)))), 0.0 * x[0])


def rounded(x: Any) -> Any:
    return sum((np.sin(x[0] * k) for k in range(round(np.sum(np.abs(x))))), x[1])


def caught(x: Any) -> Any:
    try:
        if x[0] > 0.1:
            raise ValueError("positive")
        return np.sum(np.sin(x))
    except ValueError:
        return np.sum(np.cos(x))


def derived(x: Any) -> Any:
    """Decide by a derivative, inside which it is decided by a value, too."""
    slope = fd.grad(branch)(x)
    return np.sum(slope**2) if slope[1] > 0 else np.sum(x * slope)


def determined(x: Any) -> Any:
    """Decide by the second of several results."""
    sign, logarithm = np.linalg.slogdet(np.diag(x + 0.25) + 0.1)
    return sign * np.sum(x) if logarithm > 0 else np.sum(x * x) - logarithm


FUNCTIONS = [
    determined,
    branch, early, loop, masked, written, ordered, looked_up, counted, rounded, caught, derived,
]  # fmt: skip

TRANSFORMS: dict[str, tuple[Any, Any]] = {
    "jit": (FD.jit, lambda f: f),
    "jit of grad": (lambda f: FD.jit(FD.grad(f)), FD.grad),
    "jit of hessian": (lambda f: FD.jit(FD.hessian(f)), FD.hessian),
    "jit of jacobian": (lambda f: FD.jit(FD.jacobian(f)), FD.jacobian),
    "jit of jvp": (lambda f: FD.jit(lambda x: FD.jvp(f, (x,), (X,))),
                   lambda f: lambda x: FD.jvp(f, (x,), (X,))),
    "jit of vjp": (lambda f: FD.jit(lambda x: FD.vjp(f, x)[1](2.0)),
                   lambda f: lambda x: FD.vjp(f, x)[1](2.0)),
    "grad of jit": (lambda f: FD.grad(FD.jit(f)), FD.grad),
    "jit of grad of jit": (lambda f: FD.jit(FD.grad(FD.jit(f))), FD.grad),
    "hvp of jit": (lambda f: lambda x: FD.hvp(FD.jit(f), (x,), (X,)),
                   lambda f: lambda x: FD.hvp(f, (x,), (X,))),
}  # fmt: skip


OFTEN = ("jit", "jit of grad", "jit of hessian", "jit of jvp", "grad of jit")
RARE = [pytest.mark.thinned(6)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    "transform", [pytest.param(t, marks=[] if t in OFTEN else RARE) for t in TRANSFORMS]
)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_whatever_way_a_call_takes_the_result_is_that_of_the_plain_function(
    f: Any, transform: str
) -> None:
    jitted, plain = TRANSFORMS[transform]
    g, expected = jitted(f), plain(f)
    for _ in range(3):
        for x in POINTS:
            np.testing.assert_equal(
                [np.round(y, 11) for y in _arrays(g(x))],
                [np.round(y, 11) for y in _arrays(expected(x))],
            )


def _arrays(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


# ---- what is shared --------------------------------------------------------------------------


def test_a_further_step_of_a_loop_uses_what_the_steps_before_have_computed() -> None:
    def f(x: Any) -> Any:
        while x < 40.0:
            x = np.sinh(x) + np.cosh(x) * np.exp(x)
        return x

    g = fd.jit(f)
    for x in (1.0, 0.1, 1.0, 0.1):
        np.testing.assert_allclose(g(x), f(x), rtol=1e-12)
    assert (g.cache_info().leaves, g.cache_info().hits) == (2, 2)
    (known,) = g._programs.values()
    root = known._known[1].root  # type: ignore[union-attr]
    trunk = root._branch.program(1)
    (other,) = [b for fork in root._branch.forks for b in fork.branches.values()]
    assert str(trunk).count("sinh") == 2
    assert str(other.program(1)).count("sinh") == 1


def test_the_program_shows_its_guards_and_is_read_back() -> None:
    lowered = fd.jit(branch).lower(X)
    text = str(lowered.program)
    assert text.index("greater") < text.index("guard{outcome=1, number=0}") < text.index("square")
    assert fd.parse(text) == lowered.program
    assert "divert(0, 0" in lowered.source


def test_nothing_runs_before_the_guard_that_protects_it() -> None:
    def safe_root(a: Any) -> Any:
        if np.all(np.linalg.eigvalsh(a) > 0):
            return np.sum(np.linalg.cholesky(a))
        return np.trace(a)

    def bounded(x: Any) -> Any:
        if x < 10.0:
            return fd.while_loop(lambda c: c != 10.0, lambda c: c + 1.0, x)
        return x

    g, h = fd.jit(safe_root), fd.jit(bounded)
    for _ in range(3):
        for a in (np.eye(2), -np.eye(2), np.array([[2.0, 1.0], [1.0, 2.0]])):
            np.testing.assert_allclose(g(a), safe_root(a))
        for start in (3.0, 12.0):
            assert h(start) == max(10.0, start)


# ---- what stays as it is ---------------------------------------------------------------------


@pytest.mark.parametrize("convert", [float, lambda x: x.item(), lambda x: f"{x:.2f}"])
def test_floats_decide_nothing(convert: Any) -> None:
    with pytest.raises(ConcreteValueError, match=r"test_guards\.py"):
        fd.jit(lambda x: x * len(str(convert(x))))(2.0)


@pytest.mark.parametrize("f", [branch, early, masked, counted])
def test_without_guards_values_are_refused(f: Any) -> None:
    with pytest.raises(ConcreteValueError, match=r"test_guards\.py"):
        fd.jit(f, guards=False)(X)


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: fd.vmap(fd.jit(f))(np.stack(POINTS)),  # which differ
        lambda f: fd.jit(fd.vmap(f))(np.stack(POINTS)),
        lambda f: fd.scan(fd.jit(lambda c, x: (c + f(x), None)), 0.0, np.stack(POINTS)),
        lambda f: fd.jit(lambda x: fd.cond(x[1] > 0, f, np.sum, x))(X),
    ],
)
def test_bodies_and_batches_have_no_values_under_jit_either(transform: Any) -> None:
    with pytest.raises(ConcreteValueError, match=r"if|cond"):
        transform(branch)


BATCHES: dict[str, Callable[..., Any]] = {
    "vmap": lambda f, t: fd.vmap(t(f)),
    "vmap of jit": lambda f, t: fd.vmap(fd.jit(t(f))),
    "jit of vmap": lambda f, t: fd.jit(fd.vmap(t(f))),
    "vmap of vmap": lambda f, t: lambda xs: fd.vmap(fd.vmap(t(f)))(xs[None])[0],
    "grad of vmap": lambda f, t: fd.grad(lambda xs: np.sum(fd.vmap(t(f))(xs) ** 2)),
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("transform", [lambda f: f, fd.grad], ids=["value", "grad"])
@pytest.mark.parametrize("f", [branch, early, masked, counted])
def test_examples_that_agree_on_all_that_decides_are_one_batch(
    f: Any, transform: Any, batch: str
) -> None:
    made = BATCHES[batch](f, transform)
    agree = [x for x in POINTS for _ in range(3)]
    for k in (0, 3, 0, 3):
        rows = np.stack([(1 + 1e-6 * j) * x for j, x in enumerate(agree[k : k + 3])])
        if batch == "grad of vmap":
            pulled = [fd.grad(lambda x: np.sum(transform(f)(x) ** 2))(x) for x in rows]
            np.testing.assert_allclose(made(rows), pulled, rtol=1e-12)
        else:
            expected = np.stack([transform(f)(x) for x in rows])
            np.testing.assert_allclose(made(rows), expected, rtol=1e-12)


def test_without_examples_nothing_is_agreed_on() -> None:
    with pytest.raises(ConcreteValueError):
        fd.vmap(branch)(np.ones((0, 3)))


def test_a_derivative_that_would_be_lost_is_refused_in_whatever_way() -> None:
    with pytest.raises(LostDerivativeError):
        fd.grad(fd.jit(lambda x: x * int(x)))(2.5)


# ---- what else may happen --------------------------------------------------------------------


def test_errors_of_the_user_are_raised_whenever_a_call_goes_there() -> None:
    def f(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    g = fd.jit(fd.grad(f))
    for _ in range(4):
        assert g(4.0) == 0.25
        with pytest.raises(ValueError, match="negative"):
            g(-1.0)


def test_what_is_closed_over_may_change_between_ways() -> None:
    weight = [2.0]

    def f(x: Any) -> Any:
        y = x * weight[0]
        return y if y > 1.0 else -y

    g = fd.jit(f)
    assert g(1.0) == 2.0
    weight[0] = 3.0
    assert g(-1.0) == 3.0  # a new way, on which it is traced again
    assert g(0.4) == 0.4 * 3.0  # not the way of one trace by what decided in another
    assert g(1.0) in (2.0, 3.0)
    first, second = np.array([1.0, 2.0]), np.array([5.0, 7.0])
    k = fd.jit(lambda x: np.sum(first * x) if x > 0 else np.sum(second * x))
    for x in (1.0, -1.0, 1.0, -1.0):
        assert k(x) == (3.0 if x > 0 else -12.0)
    table = np.array([1.0, 2.0])
    h = fd.jit(lambda x: np.sum(table * x) if x > 0 else np.sum(table) - x)
    assert h(1.0) == 3.0
    table[:] = 10.0
    assert h(-1.0) == 21.0


def test_code_with_effects_is_called_as_often_as_without_jit() -> None:
    calls = []

    def noted(x: Any) -> Any:
        calls.append(float(x))
        return np.sin(x)

    opaque = FD.primitive(noted, result=np.zeros_like)
    g = fd.jit(lambda x: opaque(x) if opaque(x * 2.0) > 0 else -opaque(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecompilationWarning)
        for x in (1.0, 2.0, 1.0, 2.0):
            before = len(calls)
            assert g(x) == (np.sin(x) if np.sin(2 * x) > 0 else -np.sin(x))
            assert len(calls) - before == 2


def test_who_takes_ever_new_ways_is_run_as_without_jit_and_told_once() -> None:
    def f(x: Any) -> Any:
        return x * sum(1.0 for _ in range(math.floor(x)))

    g = fd.jit(lambda x: fd.grad(f)(x) + 0.0)
    with pytest.warns(
        RecompilationWarning, match=r"more than 32 ways.*test_guards\.py"
    ) as caught_warnings:
        found = [g(k + 0.5) for k in range(MOST_LEAVES + 20)]
    assert found == list(range(MOST_LEAVES + 20))
    assert len(caught_warnings) == 1
    info = g.cache_info()
    assert (info.eager, info.leaves) == (1, 0)
    assert all(g(k + 0.5) == k for k in range(100))
    g.clear_cache()
    assert g(3.5) == 3.0
    assert g.cache_info().eager == 0


def test_what_is_kept_is_counted_by_line() -> None:
    g = fd.jit(branch)
    for x in POINTS * 3:
        g(x)
    info = g.cache_info()
    assert (info.kinds, info.leaves, info.hits, info.eager) == (1, 2, 13, 0)
    ((place, count),) = info.misses.items()
    assert count == 2
    assert "test_guards.py" in place
    assert "in branch" in place


@pytest.mark.parametrize("size", [0, 1])
def test_masks_of_few_elements(size: int) -> None:
    g = fd.jit(fd.value_and_grad(lambda x: np.sum(x[x > 0] ** 2) + np.sum(x[:, None][x < 0])))
    for _ in range(8):
        for x in (np.ones(size), -np.ones(size), np.zeros(size)):
            value, slope = g(x)
            assert value == size * {1.0: 1.0, -1.0: -1.0}.get(float(x[0]) if size else 0.0, 0.0)
            assert slope.tolist() == [{1.0: 2.0, -1.0: 1.0, 0.0: 0.0}[v] for v in x.tolist()]


@pytest.mark.parametrize("convert", [np.float32, np.complex128, np.int64, bool, float])
def test_arguments_of_every_kind(convert: Any) -> None:
    def f(x: Any) -> Any:
        return x + 1 if x != 0 else x * 2 - 1

    g = fd.jit(f)
    for _ in range(3):
        for value in (0, 1, 2):
            x = convert(value)
            assert g(x) == f(x)
            assert np.asarray(g(x)).dtype == np.asarray(f(x)).dtype


def test_results_share_no_memory_on_any_way() -> None:
    g = fd.jit(lambda x: (x, x, x[1:]) if x[0] > 0 else (x, -x, x))
    for x in (X.copy(), -X, X.copy(), -X):
        before = x.copy()
        for y in g(x):
            y += 1.0
        np.testing.assert_array_equal(x, before)


def test_many_threads_find_new_ways_at_once() -> None:
    def f(x: Any) -> Any:
        n = 0
        while x < 50.0:
            x, n = x * 1.5 + 1.0, n + 1
        return x * n

    g = fd.jit(fd.grad(f))
    starts = np.linspace(0.1, 49.0, 24)
    expected = [float(fd.grad(f)(x)) for x in starts]
    wrong: list[Any] = []

    def work(first: int) -> None:
        for k in range(3 * len(starts)):
            place = (first + 5 * k) % len(starts)
            found = float(g(starts[place]))
            if abs(found - expected[place]) > 1e-9 * abs(expected[place]):
                wrong.append((starts[place], found, expected[place]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert g.cache_info().leaves == len({round(y) for y in map(_steps, starts)})


def _steps(x: float) -> int:
    n = 0
    while x < 50.0:
        x, n = x * 1.5 + 1.0, n + 1
    return n


def test_rules_and_checkpoints_in_functions_that_branch() -> None:
    @FD.custom_jvp  # type: ignore[untyped-decorator]
    def ruled(x: Any) -> Any:
        return np.sum(x**3)

    ruled.defjvp(lambda p, t: (ruled(*p), 100.0 * np.sum(t[0])))
    kept = fd.checkpoint(lambda x: np.sum(np.sin(x)))
    f: Callable[[Any], Any] = lambda x: ruled(x) if kept(x) > 0 else kept(x) * x[0]
    g, expected = fd.jit(fd.grad(f)), fd.grad(f)
    for x in POINTS * 2:
        np.testing.assert_allclose(g(x), expected(x), rtol=1e-12)


class Model:
    def __init__(self, limit: float) -> None:
        self.limit = limit

    @FD.jit  # type: ignore[untyped-decorator]
    def clipped(self, x: Any, *, scale: Any = 1.0) -> Any:
        return x * scale if x < self.limit else self.limit + 0.0 * x


def test_methods_and_keywords() -> None:
    model, other = Model(1.0), Model(2.0)
    for _ in range(3):
        assert model.clipped(0.5, scale=2.0) == 1.0
        assert model.clipped(3.0, scale=2.0) == 1.0
        assert other.clipped(3.0) == 2.0
        assert other.clipped(1.5) == 1.5
