"""A forked process runs the mistake, and is not blamed for what fails without it."""

from __future__ import annotations

from types import CodeType, SimpleNamespace
from typing import Any

import pytest

from tests.mutation.forking import OPTIONS, ROOT, exchanged, forked
from tests.mutation.planted import MUTANTS, noticed_by_forks

MODULE = """
from functools import cache
FACTOR = 2

class Scale:
    def times(self, x, y=1):
        return sum(FACTOR * z for z in [x]) + y

@cache
def shift(x):
    return (lambda z: z + FACTOR)(x)
"""


def code(old: str = "", new: str = "") -> CodeType:
    return compile(MODULE.replace(old, new), "module", "exec", dont_inherit=True)


@pytest.mark.parametrize(("old", "new", "names", "calls"), [
    ("FACTOR * z", "FACTOR - z", {"module:times"}, (0, 5)),
    ("z + FACTOR", "z - FACTOR", {"module:<lambda>"}, (7, 1)),
    (" + y", " - y", {"module:times"}, (5, 5)),
])  # fmt: skip
def test_functions_do_what_their_new_code_says(
    old: str, new: str, names: set[str], calls: tuple[int, int]
) -> None:
    scope: dict[str, Any] = {}
    exec(code(), scope)
    found = exchanged(code(), code(old, new))
    assert found.whole
    assert found.names == names
    for function in (scope["Scale"].times, scope["shift"].__wrapped__):
        function.__code__ = found.codes.get(function.__code__, function.__code__)
    assert (scope["Scale"]().times(3), scope["shift"](3)) == calls


@pytest.mark.parametrize(
    ("old", "new"), [("FACTOR = 2", "FACTOR = 3"), ("y=1", "y=2"), ("@cache\n", "")]
)
def test_what_runs_on_import_is_not_exchanged(old: str, new: str) -> None:
    assert not exchanged(code(), code(old, new)).whole


@pytest.mark.parametrize("fails_without", [False, True])
def test_a_failure_without_the_mistake_does_not_count(fails_without: bool) -> None:
    test: Any = SimpleNamespace(nodeid="tests/test_x.py::test_x")

    class Suite:
        tests = (test,)

        def first_failure(self, tests: list[Any], codes: dict[CodeType, CodeType]) -> Any:
            return test if tests and (codes or fails_without) else None

    suite: Any = Suite()
    assert noticed_by_forks(suite, MUTANTS[0], {}) == ("" if fails_without else test.nodeid)


def test_pytest_knows_the_options_beside_those_of_the_project() -> None:
    given = [*OPTIONS, "--collect-only", f"{ROOT}/tests/test_together.py"]
    said, ended_well = forked(lambda say: say(repr(pytest.main(given))))
    assert (said, ended_well) == ([repr(pytest.ExitCode.OK)], True)
