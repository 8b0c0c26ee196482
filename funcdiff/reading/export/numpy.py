"""Writes programs for NumPy itself, as `source` does, if they need nothing else."""

from __future__ import annotations

from typing import Final

from funcdiff.reading.text.module import NUMPY

DIALECT: Final = NUMPY._replace(takes_functions=False)
