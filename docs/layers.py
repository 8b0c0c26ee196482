"""Draw layers.svg, the picture of the layers, from the import contract and the packages.

``python -m docs.layers`` draws it anew.
"""

from __future__ import annotations

import ast
import re
import tomllib
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

import funcdiff as fd

ROOT: Final = Path(__file__).parents[1]
PICTURE: Final = Path(__file__).with_name("layers.svg")

_WIDTH, _HEAD, _ROW, _GAP, _MARGIN = 960, 26, 24, 10, 12
_COLUMNS: Final = 4


class Room(NamedTuple):
    """A module or a package, and what it says of itself."""

    name: str
    sentence: str
    inner: tuple[str, ...] = ()


def layers() -> list[str]:
    """Return the names of the layers, the highest first, from ``pyproject.toml``."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    found = next(c["layers"] for c in contracts if c.get("containers") == ["funcdiff"])
    return list(found)


def room(name: str) -> Room:
    """Return a layer with the packages in it."""
    package = Path(fd.__file__).parent / name
    file = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    sentence = re.split(r"(?<=[.:])\s", text.replace("\n", " "), maxsplit=1)[0].rstrip(":.")
    inner = sorted(p.parent.name for p in package.glob("*/__init__.py"))
    return Room(name, sentence.replace("`", ""), tuple(inner))


def picture() -> str:
    """Return the picture: a box for each layer, the highest first, with its packages inside."""
    parts: list[str] = []
    top = _MARGIN
    for found in map(room, layers()):
        rows = -(-len(found.inner) // _COLUMNS)
        height = _HEAD + rows * (_ROW + 6) + (6 if rows else 0)
        parts += _box(found, top, height)
        top += height + _GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top}" '
        'font-family="system-ui, sans-serif" font-size="13">'
    )
    ground = f'<rect width="{_WIDTH}" height="{top}" fill="#ffffff"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def _box(found: Room, top: int, height: int) -> list[str]:
    left, width = _MARGIN, _WIDTH - 2 * _MARGIN
    lines = [
        f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6" '
        'fill="#eef3f8" stroke="#8aa4bf"/>',
        f'<text x="{left + 10}" y="{top + 18}" font-weight="600" fill="#12304d">'
        f"{escape(found.name)}</text>",
        f'<text x="{left + 100}" y="{top + 18}" fill="#3b4a59">{escape(found.sentence)}</text>',
    ]
    each = (width - 10) // _COLUMNS
    for k, name in enumerate(found.inner):
        x = left + 10 + (k % _COLUMNS) * each
        y = top + _HEAD + (k // _COLUMNS) * (_ROW + 6)
        lines += [
            f'<rect x="{x}" y="{y}" width="{each - 10}" height="{_ROW}" rx="4" '
            'fill="#ffffff" stroke="#b9c9d9"/>',
            f'<text x="{x + 8}" y="{y + 16}" fill="#12304d">{escape(name)}</text>',
        ]
    return lines


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
