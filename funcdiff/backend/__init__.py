"""Compiles programs to Python code: one function of plain NumPy calls per program."""

from funcdiff.core.evaluate import promotion
from funcdiff.core.late import late

promotion.compiler = late("funcdiff.backend.code.translation", "compile_source")
