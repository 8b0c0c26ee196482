"""The README keeps its promises: its examples print what it shows, its commands are those of CI."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """Return the language and the body of every fenced block of the README, in order."""
    return BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))


def test_every_python_block_prints_the_text_block_that_follows_it() -> None:
    found = blocks()
    namespace: dict[str, Any] = {}
    shown = []
    printed = []
    for (language, body), (next_language, next_body) in zip(
        found, [*found[1:], ("", "")], strict=True
    ):
        if language != "python":
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(body, "README.md", "exec"), namespace)
        printed.append(output.getvalue())
        shown.append(next_body if next_language == "text" else "")
    assert printed, "the README has no example"
    assert printed == shown


def test_ci_runs_the_two_commands_of_the_readme() -> None:
    commands = [body.strip() for language, body in blocks() if language == "sh"]
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert len(commands) == 2
    for command in commands:
        assert f"({command})" in ci
