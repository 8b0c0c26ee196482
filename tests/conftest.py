"""The tests' mode: compiled programs are checked, random examples are few, large tables thinned."""

import gc
import os
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, is_hypothesis_test, settings

from funcdiff.core.running.evaluate import patience
from tests.covering import covering
from tests.numpy import agreement
from tests.reached import leads_to
from tests.together import thinning

settings.register_profile(
    "slow", deadline=None, derandomize=True, max_examples=50, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # which looks at a clock, too
)  # fmt: skip
settings.register_profile("quick", settings.get_profile("slow"), max_examples=6)
settings.register_profile("thorough", settings.get_profile("slow"), max_examples=6)
settings.register_profile("by hand", settings.get_profile("slow"), max_examples=6)

# the first execution of a compiled program is held against the interpreter: see below
os.environ["FUNCDIFF_CHECK"] = "1"

# what is done again is derived at the second time and compiled after few more
patience.least = 1

# processes share the cores: threads of the products of small matrices would wait for each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# derived programs are many objects that stay, and few of them cycles: looking through a large
# heap again and again took a sixth of all time
gc.set_threshold(4_000_000, 20, 100)


def by_default(config: pytest.Config) -> bool:
    """Whether slow tests are left out."""
    return bool(config.option.markexpr.strip() == "not slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let tables of which only a sample is run be run whole."""
    parser.addoption("--exhaustive", action="store_true", help="run all cases of sampled tables")


def pytest_configure(config: pytest.Config) -> None:
    """Try less where slow tests are left out, before any module asks how much."""
    settings.load_profile("quick" if by_default(config) else "slow")
    agreement.default.highest = 1 if by_default(config) else 2
    thinning.on = by_default(config)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for no examples in the docstrings of tests, which have none: it takes a second."""
    return [x for x in (yield) if not isinstance(x, DoctestModule)]


def does_less_by_default(item: pytest.Function) -> bool:
    """Whether a test draws fewer examples, thins or asks for derivatives of the default order."""
    draws_more = settings().max_examples > settings.get_profile("quick").max_examples
    return (
        (draws_more and is_hypothesis_test(item.obj))
        or getattr(item.obj, "does_less_by_default", False)
        or leads_to(item.obj, agreement.default)
    )


class Case(NamedTuple):
    """A case of a table.

    Attributes
    ----------
    name
        From which it follows whether it is chosen, so that it is the same everywhere.
    values
        The place of the value of each parameter.
    marks
        Its own and those of its table.
    """

    name: str
    values: Mapping[str, int]
    marks: Sequence[pytest.Mark]

    @property
    def number(self) -> int:
        """By which it is chosen."""
        return crc32(self.name.encode())

    def kinds(self) -> list[str]:
        """Return what it is one of, of which some case is to be kept."""
        marked = [mark.kwargs.get("kind") for mark in self.marks if mark.name == "sampled"]
        return [found[0] for kind in marked if kind and (found := re.search(kind, self.name))]

    def is_kept(self, marker: str) -> bool:
        """Whether it is one of those that a marker keeps of a table."""
        return not any(self.number % mark.args[0] for mark in self.marks if mark.name == marker)


def quick(cases: Sequence[Case]) -> set[int]:
    """Return which cases of a table run by default: every value of every parameter is in one."""
    left = [
        k
        for k, case in enumerate(cases)
        if all(mark.name != "slow" for mark in case.marks)
        and case.is_kept("sampled")
        and case.is_kept("thinned")
    ]
    return {left[k] for k in covering([cases[k].values for k in left], strength=1)}


def sample(cases: Sequence[Case]) -> set[int]:
    """Return which cases run unless all do: some of every kind, and every pair of values."""
    first: dict[str, int] = {}
    for k in sorted(range(len(cases)), key=lambda k: cases[k].number):
        for kind in cases[k].kinds():
            first.setdefault(kind, k)
    left = sorted(
        {k for k, case in enumerate(cases) if case.is_kept("sampled")} | {*first.values()}
    )
    return {left[k] for k in covering([cases[k].values for k in left], strength=2)}


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make no items of cases that do not run, and mark those that do not run by default as slow."""
    config, test, calls = metafunc.config, metafunc.definition, metafunc._calls
    above = [*test.iter_markers()]
    cases = [Case(f"{test.name}[{call.id}]", call.indices, [*above, *call.marks]) for call in calls]
    fast = quick(cases)
    if config.option.exhaustive:
        kept = {*range(len(cases))}
    else:
        # a test of no cases would be one without a case, so that one is left, which is slow
        kept = fast or {*range(len(cases))[:1]} if by_default(config) else fast | sample(cases)
    slow = [pytest.mark.slow.mark]
    metafunc._calls = [
        calls[k] if k in fast else replace(calls[k], marks=[*calls[k].marks, *slow])
        for k in sorted(kept)
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow what does less by default, so that it runs once more and does all.

    Tests of random examples run by default with few of them, tables that are one test with few
    cases, and tests of derivatives of NumPy's and SciPy's functions to first order.
    """
    if not by_default(config):
        for item in items:
            if isinstance(item, pytest.Function) and does_less_by_default(item):
                item.add_marker("slow")


@pytest.fixture
def one_in(request: pytest.FixtureRequest) -> Callable[[int], bool]:
    """Whether a case is one of n of its table of which the slow tests ask for more."""
    config, number = request.config, crc32(request.node.name.encode())
    exhaustive = config.option.exhaustive
    # not those that `thinned` keeps by default
    return lambda n: not by_default(config) and (exhaustive or number % n == 1)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check compiled programs and tapes with random examples and in half of the other tests."""
    draws = isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
    checks = draws or crc32(item.name.encode()) % 2
    os.environ["FUNCDIFF_CHECK"] = "1" if checks else "0"


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Require that what asks for the default order is known to, so that it is slow, too."""
    agreement.default.is_asked = False
    result = yield
    assert not agreement.default.is_asked or does_less_by_default(pyfuncitem), (
        "the test asks for derivatives of the default order in a way that `tests/reached.py` does "
        "not see: name the function that does in the test or in a function of the same module"
    )
    return result


def pytest_collection_finish() -> None:
    """Let the collector of garbage never look through the tests themselves."""
    gc.freeze()


@pytest.fixture
def collect() -> Callable[[], int]:
    """Collect garbage of what the test makes, and not look through all that is kept before it."""
    gc.freeze()
    return gc.collect


def pytest_sessionfinish() -> None:
    """Look for no garbage at the end, as pytest and Python would several times."""
    gc.freeze()
