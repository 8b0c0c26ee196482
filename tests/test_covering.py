"""Of a table, by default every value of every parameter runs, and every pair with slow tests."""

from itertools import combinations, product

import pytest

from tests import conftest
from tests.conftest import Case
from tests.covering import covering

LENGTHS = [(), (1,), (7,), (1, 5), (4, 4), (2, 3, 5), (3, 3, 3, 3)]


def table(*lengths: int) -> list[dict[str, int]]:
    rows = product(*map(range, lengths))
    return [{f"p{k}": value for k, value in enumerate(row)} for row in rows]


@pytest.mark.parametrize("strength", [1, 2])
@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_every_combination_of_values_is_kept_in_few_rows(
    lengths: tuple[int, ...], strength: int
) -> None:
    rows = table(*lengths)
    kept = [rows[k] for k in covering(rows, strength)]
    size = min(strength, len(lengths))
    wanted, found = ({c for row in some for c in combinations(row.items(), size)}
                     for some in (rows, kept))  # fmt: skip
    assert found == wanted
    assert len(kept) == len(rows) if size == len(lengths) > 0 else len(kept) <= len(rows)


def test_one_value_each_takes_as_many_rows_as_the_longest_parameter_has_values() -> None:
    assert len(covering(table(6, 9), 1)) == 9
    assert len(covering(table(5, 5, 5), 1)) == 5
    assert len(covering(table(5, 5, 5), 2)) <= 35


def test_combinations_that_are_in_no_row_are_not_asked_for() -> None:
    rows = [{"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 0, "b": 1}]
    assert covering(rows, 1) == [0, 1]
    assert covering(rows, 2) == [0, 1, 2]
    assert covering([], 1) == []


def cases(*marks: pytest.Mark) -> list[Case]:
    rows = table(4, 5, 6)
    return [Case(f"test[{'-'.join(map(str, row.values()))}]", row, marks) for row in rows]


def test_by_default_a_table_runs_with_every_value_once() -> None:
    assert len(conftest.quick(cases())) == 6
    assert len(conftest.quick(cases(pytest.mark.thinned(40).mark))) < 6
    assert conftest.quick(cases(pytest.mark.slow.mark)) == set()


def test_slow_tests_run_with_every_pair_of_values() -> None:
    assert 30 <= len(conftest.sample(cases())) < 50
    assert len(conftest.sample(cases(pytest.mark.sampled(40).mark))) < 10


def test_of_a_sampled_table_some_case_of_every_kind_runs() -> None:
    every = cases(pytest.mark.sampled(10**6, kind=r"\[\d-\d").mark)
    kept = [every[k] for k in conftest.sample(every)]
    assert sorted(kind for case in kept for kind in case.kinds()) == [
        f"[{a}-{b}" for a in range(4) for b in range(5)
    ]
