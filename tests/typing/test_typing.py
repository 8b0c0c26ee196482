"""A strict type checker accepts right programs of users and rejects their mistakes."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from mypy import api

from tests.typing import (
    accepted,
    accepted_autograd,
    accepted_containers,
    accepted_control,
    accepted_import_line,
    accepted_nn,
    accepted_rules,
)

HERE = Path(__file__).parent
ACCEPTED = (
    accepted,
    accepted_autograd,
    accepted_containers,
    accepted_control,
    accepted_import_line,
    accepted_nn,
    accepted_rules,
)
REJECTED = (
    "rejected.py",
    "rejected_autograd.py",
    "rejected_containers.py",
    "rejected_import_line.py",
    "rejected_rules.py",
)
ERROR = re.compile(r"[^:]*:(?P<line>\d+): error: (?P<message>.*)  \[(?P<code>[\w-]+)\]$")
PAGE = HERE.parents[1] / "docs" / "types.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"# error: (?P<message>.+)$")
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


def program_of_the_page() -> str:
    return "\n\n".join(BLOCK.findall(PAGE.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Run mypy once over all programs, and sort what it says by file."""
    folder = tmp_path_factory.mktemp("mypy")
    page = folder / "page.py"
    page.write_text(program_of_the_page(), encoding="utf-8")
    modules = [Path(str(module.__file__)) for module in ACCEPTED]
    programs = [*modules, *(HERE / name for name in REJECTED), page]
    options = ["--strict", "--config-file=", "--cache-dir", str(folder), "--follow-imports=silent"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(HERE.parents[1])
        output, failure, _ = api.run([*options, *map(str, programs)])
    assert not failure, failure
    names = [program.name for program in programs]
    lines = [line for line in output.splitlines() if ": error: " in line]
    assert all(any(f"/{name}:" in line for name in names) for line in lines), output
    return {name: [line for line in lines if f"/{name}:" in line] for name in names}


@pytest.mark.slow
def test_the_page_on_types_shows_what_the_checker_says(reports: dict[str, list[str]]) -> None:
    text = program_of_the_page()
    found = list(findings(ERROR, reports["page.py"]))
    lines = enumerate(text.splitlines(), start=1)
    expected = {k: shown["message"] for k, line in lines if (shown := SHOWN.search(line))}
    assert {finding.line for finding in found} == expected.keys(), found
    for line, message in expected.items():
        assert any(f.line == line and message in f.message for f in found), (line, found)
    exec(compile(text, str(PAGE), "exec"), {"__name__": "page"})


@pytest.mark.slow
def test_right_programs_are_accepted_and_every_mistake_is_rejected(
    reports: dict[str, list[str]],
) -> None:
    """One test for all programs, so that of all processes only one runs the checker."""
    for module in ACCEPTED:
        assert reports[Path(str(module.__file__)).name] == []
    for name in REJECTED:
        require_marked_mistakes(reports, name)


def require_marked_mistakes(reports: dict[str, list[str]], name: str) -> None:
    """Require that the checker finds every mistake that is marked in a program, and no other."""
    expected = list(findings(EXPECTED, (HERE / name).read_text().splitlines()))
    found = list(findings(ERROR, reports[name]))
    assert len(expected) > 6
    assert {finding.line for finding in found} == {finding.line for finding in expected}
    for line, code, message in expected:
        here = [finding for finding in found if finding.line == line]
        assert any(code == f.code and message in f.message for f in here), (line, here)


@pytest.mark.parametrize(
    "program",
    [program for module in ACCEPTED for program in module.PROGRAMS],
    ids=lambda program: program.__name__,
)
def test_right_programs_run(program: Callable[[], None]) -> None:
    program()
