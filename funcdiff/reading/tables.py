"""Shows tables, some of their cells coloured, and code in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final, NamedTuple


class Cell(NamedTuple):
    """A cell: its text, whether it is a number, and the colour behind it, if it has one."""

    text: str
    is_number: bool = False
    colour: str = ""


_FONT: Final = "table-layout: auto; font: 12.5px/1.6 ui-monospace, monospace"
_SIDES: Final = {True: "right", False: "left"}


def table_html(caption: str, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a table in the colours of the notebook; coloured cells are dark on light."""
    numeric = [cell.is_number for cell in rows[0]] if rows else [False for _ in head]
    heads = "".join(
        f'<th scope="col" style="text-align: {_SIDES[is_number]}">{escape(text)}</th>'
        for text, is_number in zip(head, numeric, strict=True)
    )
    lines = [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    title = f'<caption style="text-align: left">{escape(caption)}</caption>'
    return "\n".join([f'<table style="{_FONT}">{title}<tr>{heads}</tr>', *lines, "</table>"])


def records_html(caption: str, head: Sequence[str], records: Sequence[Sequence[object]]) -> str:
    """Return a table of records, whose fields are words or counts."""
    rows = [[Cell(str(x), is_number=isinstance(x, int)) for x in record] for record in records]
    return table_html(caption, head, rows)


def _cell(cell: Cell) -> str:
    style = f"text-align: {_SIDES[cell.is_number]}; white-space: pre"
    if cell.colour:
        style += f"; color: #1c1e21; background: {cell.colour}"
    return f'<td style="{style}">{escape(cell.text)}</td>'


class Code(str):
    """A text that notebooks show as code."""

    __slots__ = ()

    def _repr_markdown_(self) -> str:
        return f"```python\n{self.rstrip()}\n```"


def table_text(head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return the same in columns of characters, without colours."""
    cells = [list(head), *([cell.text for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [cell.is_number for cell in rows[0]] if rows else [False for _ in head]
    return "\n".join(
        "  ".join(
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in cells
    )
