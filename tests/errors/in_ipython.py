"""Tracebacks and names of cells in IPython: ``python -m pytest -n 0 tests/errors/in_ipython.py``.

IPython must be installed; a notebook shows errors by the same code.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

CELLS = (
    "import numpy as np, funcdiff as fd\nx = np.ones((4, 3))\n"
    "def loss(x):\n    return np.sum(x @ np.ones(7))",
    "fd.jit(fd.vmap(fd.grad(loss)))(x)",
    "fd.grad(lambda x: float(x))(1.0)",
    "fd.vjp(np.sin, x)[1](np.ones(7))",
    "fd.hessian(loss)(x[0])",
)
ENDS = ("loss", "<lambda>", "<module>", "loss")
"""The functions at whose lines the errors of the cells end."""


@pytest.fixture(scope="module")
def shell() -> Any:
    found: Any = InteractiveShell.instance()
    found.run_cell(CELLS[0], store_history=True)
    return found


@pytest.mark.parametrize("mode", ["Plain", "Context", "Verbose", "Minimal"])
def test_errors_are_shown_by_the_lines_of_cells(
    shell: Any, mode: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shell.run_line_magic("xmode", mode)
    for cell, end in zip(CELLS[1:], ENDS, strict=True):
        found = shell.run_cell(cell, store_history=True).error_in_exec
        trace = found.__traceback__
        while trace.tb_next is not None:
            trace = trace.tb_next
        assert trace.tb_frame.f_code.co_name == end
        shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
        assert re.search(r"In \[\d+\], line \d", shown)
        assert "funcdiff/api" not in shown
        assert "funcdiff/core" not in shown


def test_a_debugger_stands_in_the_cell(shell: Any) -> None:
    shell.run_cell(CELLS[1], store_history=True)
    last: Any = sys.last_traceback  # from which %debug starts
    while last.tb_next is not None:
        last = last.tb_next
    assert last.tb_frame.f_locals["x"].shape == (3,)
