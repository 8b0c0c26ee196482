"""A strict type checker accepts right programs of users and rejects their mistakes."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from mypy import api

from tests.typing import accepted

HERE = Path(__file__).parent
ERROR = re.compile(r"[^:]*:(?P<line>\d+): error: (?P<message>.*)  \[(?P<code>[\w-]+)\]$")
EXPECTED = re.compile(r"# E: \[(?P<code>[\w-]+)\] (?P<message>.+)$")


class Finding(NamedTuple):
    line: int
    code: str
    message: str


def findings(pattern: re.Pattern[str], lines: list[str]) -> Iterator[Finding]:
    for number, text in enumerate(lines, start=1):
        match = pattern.search(text)
        if match is not None:
            groups = match.groupdict()
            yield Finding(int(groups.get("line", number)), groups["code"], groups["message"])


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Run mypy once over both programs, and sort what it says by file."""
    cache = str(tmp_path_factory.mktemp("mypy"))
    names = ["accepted.py", "rejected.py"]
    options = ["--strict", "--config-file=", "--cache-dir", cache, "--follow-imports=silent"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(HERE.parents[1])
        output, failure, _ = api.run([*options, *[str(HERE / name) for name in names]])
    assert not failure, failure
    lines = [line for line in output.splitlines() if ": error: " in line]
    assert all(any(name in line for name in names) for line in lines), output
    return {name: [line for line in lines if name in line] for name in names}


def test_right_programs_are_accepted(reports: dict[str, list[str]]) -> None:
    assert reports["accepted.py"] == []


def test_every_mistake_is_rejected_and_nothing_else(reports: dict[str, list[str]]) -> None:
    expected = list(findings(EXPECTED, (HERE / "rejected.py").read_text().splitlines()))
    found = list(findings(ERROR, reports["rejected.py"]))
    assert len(expected) > 50
    assert {finding.line for finding in found} == {finding.line for finding in expected}
    for line, code, message in expected:
        here = [finding for finding in found if finding.line == line]
        assert any(code == f.code and message in f.message for f in here), (line, here)


@pytest.mark.parametrize("program", accepted.PROGRAMS, ids=lambda program: program.__name__)
def test_right_programs_run(program: Callable[[], None]) -> None:
    program()
