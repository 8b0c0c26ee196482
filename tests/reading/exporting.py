"""The samples of every primitive, written for other libraries, and what is frozen of that."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

import funcdiff as fd
from funcdiff.core.program import Program
from funcdiff.errors import ProgramError
from funcdiff.reading.text.module import of_program
from funcdiff.reading.text.writer import Dialect
from funcdiff.reading.views import Target
from tests.rules.test_rules import NAMED

FROZEN = Path(__file__).with_name("exports.json")
TEXTS = Path(__file__).parent / "texts"
VERIFIED_TARGETS = ("jax", "torch")
GOLDEN: tuple[tuple[str, Target], ...] = (
    ("clipped", "jax"), ("clipped", "torch"), ("cross_entropy_gradient", "cupy"),
    ("cross_entropy_gradient", "jax"), ("cross_entropy_gradient", "torch"),
    ("recurrent_gradient", "jax"), ("square_root", "jax"),
)  # fmt: skip
"""Functions of `readable` of which the text for a library is kept."""


class Outcome(TypedDict):
    """What became of the samples in a library.

    Attributes
    ----------
    verified
        Digests of texts that compute what NumPy does.
    failed
        What the library said of texts that do not.
    refused
        Why there is no text, by primitive; of the first such sample.
    """

    verified: dict[str, str]
    failed: dict[str, str]
    refused: dict[str, str]


def dialect(target: str) -> Dialect:
    found: Dialect = import_module(f"funcdiff.reading.export.{target}").DIALECT
    return found


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@cache
def program_of(name: str) -> Program:
    return fd.trace(NAMED[name].f)(*NAMED[name].args)


def arguments(name: str) -> list[Any]:
    return fd.pytree.flatten(NAMED[name].args)[0]


def texts(target: str, names: Iterable[str], refused: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Give the samples that can be written for a library, with their texts; note the others."""
    language = dialect(target)
    for name in names:
        try:
            yield name, of_program(program_of(name), language)
        except ProgramError as error:
            reason = re.sub(r".*? code: (.*?)\. Its program.*", r"\1", str(error), flags=re.DOTALL)
            refused.setdefault(name.rpartition("-")[0], reason)


def frozen() -> dict[str, Outcome]:
    found: dict[str, Outcome] = json.loads(FROZEN.read_text(encoding="utf-8"))
    return found
