"""Costs are counted as the documentation says."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.core.access import Rule, pointwise
from funcdiff.core.implementation import Implementation
from funcdiff.core.primitive import NONE, Facts, Params, Primitive, primitives
from funcdiff.core.recording.builder import bind
from funcdiff.errors import InputError
from funcdiff.reading.costs import Cost
from tests.reading.readable import KEPT, network

X, W = np.ones((20, 30)), np.ones((30, 40))


@pytest.mark.parametrize(("access", "facts", "view", "f", "flops"), [
    (None, Facts(), False, lambda x: x[:2, :3], 6),
    (pointwise, Facts(), False, lambda x: x, 600),
    (pointwise, Facts(), False, lambda x: 1j * x, 4 * 600),
    (pointwise, Facts(linear=slice(None)), False, lambda x: 1j * x, 2 * 600),
    (None, Facts(), True, lambda x: x, 0),
    (None, Facts(calls_user=True), False, lambda x: x, 0),
])  # fmt: skip
def test_an_operation_of_no_entry_is_counted_by_its_facts(
    access: Rule | None, facts: Facts, view: bool, f: Any, flops: float
) -> None:
    some = Primitive(
        "some_operation",
        Params,
        lambda _p, x: (x,),
        Implementation(lambda _p: np.positive, view=view),
        facts=facts,
        access=access,
    )
    try:
        cost = fd.cost(lambda x: bind(some, NONE, f(x)))(X)
        before = fd.cost(f)(X)
    finally:
        primitives.pop("some_operation")
    assert cost.flops - before.flops == flops


def test_a_product_of_matrices_takes_two_operations_for_each_term() -> None:
    cost = fd.cost(lambda x, w: x @ w)(X, W)
    assert cost.flops == 2 * 20 * 30 * 40
    assert (cost.read, cost.written) == (8 * (600 + 1200), 8 * 800)
    assert cost.bytes == cost.read + cost.written
    assert cost.peak == 8 * (600 + 1200 + 800)
    assert fd.cost(lambda x, w: x @ w)(X * 1j, W * 1j).flops == 4 * cost.flops


@pytest.mark.parametrize(("f", "flops"), [
    (lambda x: x + 1, 600),
    (lambda x: x * (2 * x), 1200),
    (np.sin, 6000),
    (lambda x: 1 / x, 2400),
    (lambda x: np.sum(x, axis=0), 600),
    (lambda x: np.sort(x.ravel()), 600 * np.log2(600)),
    (lambda x: np.fft.fft(x[0]), 5 * 30 * np.log2(30)),
    (lambda x: np.linalg.cholesky(x[:5, :5]), 125 / 3),
    (lambda x: np.linalg.solve(x[:6, :6], x[:6, :2]), 2 / 3 * 216 + 2 * 36 * 2),
    (lambda x: np.linalg.eigh(x[:4, :4])[1], 9 * 64),
    (lambda x: np.linalg.qr(x.T, mode="r"), 2 * 400 * (30 - 20 / 3)),
    (lambda x: np.linalg.qr(x.T, mode="raw")[0], 2 * 400 * (30 - 20 / 3)),
    (lambda x: np.linalg.svd(x, compute_uv=False), 4 * 30 * 400 - 4 / 3 * 8000),
    (lambda x: np.linalg.inv(np.stack([x[:3, :3]] * 7)), 7 * 2 * 27),
    (lambda x: x.T.reshape(-1)[::2][None], 0),
    (
        lambda x: fd.nn.conv(np.stack([x, x])[None], np.ones((5, 2, 3, 4))),
        2 * 10 * (3 * 18) * (4 * 27),
    ),
])  # fmt: skip
def test_operations_are_counted_by_their_leading_terms(f: Any, flops: float) -> None:
    assert fd.cost(f)(X).flops == pytest.approx(flops)


def test_a_masked_product_counts_as_the_product() -> None:
    root = fd.grad(lambda x: np.sum(np.linalg.svd(x, compute_uv=False)))
    assert fd.cost(root)(X).flops > 2 * 20 * 20 * 30


def test_views_move_nothing_and_keep_their_memory_alive() -> None:
    assert fd.cost(lambda x: x.T[::2])(X).bytes == 0

    def f(x: Any) -> Any:
        y = np.sin(x)
        part = y[:1]
        z = np.cos(y)
        return np.sum(z) + part

    assert fd.cost(f)(X).peak >= 3 * X.nbytes


def test_memory_is_freed_after_the_last_use() -> None:
    def chain(x: Any) -> Any:
        for _ in range(10):
            x = np.sin(x)
        return x

    assert fd.cost(chain)(X).peak == 3 * X.nbytes  # the argument, and two of the chain
    # a gradient keeps what it needs of every step
    assert fd.cost(fd.grad(lambda x: np.sum(chain(x))))(X).peak >= 11 * X.nbytes


def test_a_checkpoint_takes_less_memory_and_more_operations() -> None:
    def step(x: Any) -> Any:
        for _ in range(5):
            x = np.sin(x)
        return x

    def repeated(step: Any) -> Any:
        def f(x: Any) -> Any:
            for _ in range(4):
                x = step(x)
            return np.sum(x)

        return fd.grad(f)

    plain, recomputed = fd.cost(repeated(step))(X), fd.cost(repeated(fd.checkpoint(step)))(X)
    assert recomputed.peak < plain.peak
    assert recomputed.flops > plain.flops


def test_a_chain_of_writes_works_in_place() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        for k in range(1, 100):
            y[k] = y[k - 1] * x[k]
        return y

    cost = fd.cost(f)(np.ones(1000))
    assert cost.written < 3 * 8000  # one array, and not one for each write
    assert cost.peak < 4 * 8000


def test_loops_count_their_iterations_if_they_are_known() -> None:
    def total(count: int) -> Cost:
        def f(x: Any) -> Any:
            return fd.fori_loop(0, count, lambda _, y: np.sin(y), x)

        return fd.cost(fd.jit(f))(X)

    assert total(50).flops - total(10).flops == pytest.approx(40 * 6000, rel=1e-3)
    assert total(50).peak == pytest.approx(total(10).peak, rel=0.1)


def test_of_a_loop_of_unknown_length_one_iteration_counts() -> None:
    kept = KEPT["square_root"]
    cost = fd.cost(kept.f)(*kept.args)
    assert cost.loops == 1
    assert "of 1 loop of unknown length one iteration counts" in str(cost)
    assert cost.flops == fd.cost(kept.f)(1e6).flops


def test_of_branches_the_dearest_counts() -> None:
    def f(x: Any) -> Any:
        return fd.cond(np.sum(x) > 0, lambda x: np.sin(np.sin(x)), lambda x: x + 1, x)

    assert fd.cost(f)(X).flops == fd.cost(f)(-X).flops
    assert fd.cost(f)(X).flops >= 12000


def test_rows_are_the_lines_of_the_user_and_add_up() -> None:
    kept = KEPT["network_gradient"]
    cost = fd.cost(kept.f)(*kept.args)
    line = network.__code__.co_firstlineno + 1
    places = [row.place for row in cost.rows]
    assert any(place.startswith(f"readable.py:{line}: hidden") for place in places)
    assert any(place.startswith(f"derivative of line {line}: hidden") for place in places)
    for word in ("flops", "read", "written", "equations"):
        assert sum(getattr(row, word) for row in cost.rows) == getattr(cost, word)
    moved = [row.read + row.written for row in cost.rows]
    assert moved == sorted(moved, reverse=True)


def test_the_table_is_aligned() -> None:
    kept = KEPT["network_gradient"]
    *table, peak = str(fd.cost(kept.f)(*kept.args)).split("\n")
    assert table[0].endswith("line")
    column = table[0].index("line")
    assert all(line[column - 2 : column] == "  " for line in table)
    assert table[-1].endswith("total")
    assert peak.startswith("peak memory ")


def test_costs_show_as_their_table_in_a_terminal_and_in_a_notebook() -> None:
    cost = fd.cost(lambda x: fd.while_loop(lambda s: s < 9.0, lambda s: s * 2.0, x))(1.0)
    assert repr(cost) == str(cost)
    page = cost._repr_html_()
    assert page.count("<tr>") == len(cost.rows) + 2
    assert "peak memory 24 B, of 1 loop of unknown length one iteration counts" in page


def test_a_function_that_cannot_be_looked_into_is_said() -> None:
    def ordered(x: Any) -> Any:
        return np.sort(x)

    f = fd.primitive(ordered, result=lambda x: x)
    cost = fd.cost(lambda x: f(x) + 1)(X)
    assert cost.unknown == 1
    assert "1 call of functions that cannot be looked into" in str(cost)


def test_costs_are_immutable_and_refused_inside_a_trace() -> None:
    cost = fd.cost(lambda x: np.sin(x))(X)
    with pytest.raises(FrozenInstanceError):
        cost.flops = 0  # type: ignore[misc]
    with pytest.raises(InputError, match="while something is traced"):
        fd.grad(lambda x: fd.cost(np.sin)(x).flops * x)(1.0)
