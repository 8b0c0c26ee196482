"""Runs a cell as Python's console does: expressions show their values, an error ends no cell."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import traceback
from typing import Any


def run(code: str, name: str, names: dict[str, Any]) -> str:
    """Return what a cell prints, by the names of the cells before it."""
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            statements = ast.parse(code, name).body
        except SyntaxError:
            traceback.print_exc(limit=0)
            statements = []
        for statement in statements:
            try:
                exec(compile(ast.Interactive([statement]), name, "single"), names)
            except Exception as error:
                print("Traceback (most recent call last):")
                print("".join(traceback.format_exception_only(error)), end="")
    return output.getvalue()
