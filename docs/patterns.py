"""Draws patterns of sparse Jacobians for their page.

Run ``python -m docs.patterns`` after a change of the functions below.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

import funcdiff as fd

PICTURE: Final = Path(__file__).with_name("patterns.svg")
_SIDE: Final = 200
_GAP: Final = 20


def _brusselator(y: Any) -> Any:
    u, v = y.reshape(2, 6, 6)

    def diffusion(a: Any) -> Any:
        return np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a

    du = 1 + u**2 * v - 4.4 * u + diffusion(u)
    return np.stack([du, 3.4 * u - u**2 * v + diffusion(v)]).ravel()


def _chain(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _arrowhead(x: Any) -> Any:
    return np.append(np.sum(x**2), x[0] * x[1:] ** 2)


FUNCTIONS: Final[dict[str, tuple[Callable[..., Any], int]]] = {
    "two fields on a torus": (_brusselator, 72),
    "Hessian of a chain": (fd.grad(_chain), 40),
    "arrowhead": (_arrowhead, 40),
}


def picture() -> str:
    """Return the picture: patterns side by side, each with what it is of."""
    width = _GAP + len(FUNCTIONS) * (_SIDE + _GAP)
    height = _SIDE + 3 * _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for k, (name, (f, size)) in enumerate(FUNCTIONS.items()):
        pattern = fd.sparsity(f)(np.ones(size))
        found = re.search(r'viewBox="([^"]*)".*<path d="([^"]*)"', pattern._repr_html_())
        assert found is not None
        box, path = found.groups()
        left = _GAP + k * (_SIDE + _GAP)
        parts += [
            f'<svg x="{left}" y="{_GAP}" width="{_SIDE}" height="{_SIDE}" viewBox="{box}">'
            f'<path d="{path}" fill="#12304d"/></svg>',
            f'<rect x="{left}" y="{_GAP}" width="{_SIDE}" height="{_SIDE}" fill="none" '
            'stroke="#8aa4bf"/>',
            f'<text x="{left}" y="{_SIDE + 2 * _GAP}" fill="#3b4a59">{name}, {pattern.nnz} places '
            "</text>",
        ]
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
