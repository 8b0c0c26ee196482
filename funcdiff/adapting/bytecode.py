"""Rewritten modules, kept beside the bytecode of the originals, since rewriting takes most time.

A file is used if it is of this Python, this rewriter, and this source in this place.  Where none
can be written, the module is rewritten each time.
"""

from __future__ import annotations

import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from types import CodeType
from typing import cast

import numpy as np

from funcdiff.adapting import bisections, rewriting


def rewritten_module(file: str, source: bytes) -> CodeType:
    """Return the rewritten code of a module."""
    kept = Path(cache_from_source(file, optimization="funcdiff"))
    key = MAGIC_NUMBER + _rewriter() + source_hash(file.encode() + source)
    with suppress(OSError, ValueError, EOFError, TypeError):
        found = kept.read_bytes()
        if found.startswith(key):
            return cast(CodeType, marshal.loads(found[len(key) :]))
    code = rewriting.rewrite(source, file)
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            kept.parent.mkdir(exist_ok=True)
            part = kept.with_name(f"{kept.name}.{os.getpid()}")
            part.write_bytes(key + marshal.dumps(code))
            part.replace(kept)
    return code


@cache
def _rewriter() -> bytes:
    """Return what tells rewriters apart: their source, and NumPy's names of types."""
    files = map(str, (rewriting.__file__, bisections.__file__))
    sources = (Path(file).read_bytes() for file in files)
    return source_hash(b"".join(sources) + np.__version__.encode())
