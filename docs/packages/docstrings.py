"""Run the examples in the docstrings of packages, in the originals and in adapted copies.

``python -m docs.packages.docstrings pvlib rowan`` prints, for each package, how many examples there
are, and those whose output, exception or warnings differ, or the lines that these name.  What
differs between two runs of the original (an address, a random number) is left out.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
import traceback
import warnings
from collections.abc import Iterator
from importlib import import_module
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

import funcdiff as fd
from docs.packages.checks import TimeLimitError, time_limit

OURS: Final = str(Path(fd.__file__).parent)
IMPORTING: Final = (importlib.__file__, "<frozen importlib")
Outcome = list[tuple[str, str]]


class Recorder(doctest.DocTestRunner):
    """Runs examples, and keeps what each of them printed, or the exception that it raised."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.seen: Outcome = []

    def report_start(self, out: Any, test: Any, example: Any) -> None:
        """Print nothing."""

    def report_success(self, out: Any, test: Any, example: Any, got: str) -> None:
        """Keep an output; of an exception the last line, as the others are doctest's own."""
        text = got.strip().rpartition("\n")[2] if "Traceback (most recent" in got else got
        self.seen.append((example.source, text))

    report_failure = report_success

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """Keep an exception, and the lines through which it went, but for those of importing."""
        frames = [(f.filename, f.lineno) for f in traceback.extract_tb(exc_info[2])]
        lines = [f"{file}:{n}" for file, n in frames if not file.startswith((OURS, *IMPORTING))]
        text = f"{exc_info[0].__name__}: {exc_info[1]}, by {', '.join(lines)}"
        self.seen.append((example.source, text))


class Parser(doctest.DocTestParser):
    """Finds no examples in a docstring that does not keep to the rules of doctest."""

    def parse(self, string: str, name: str = "<string>") -> list[Any]:
        """Return examples, and the text between them."""
        try:
            return super().parse(string, name)
        except ValueError:
            return []


def outcome(test: doctest.DocTest, module: ModuleType) -> Outcome:
    """Return what the examples of a docstring do with the names of a module."""
    runner = Recorder()
    np.random.seed(0)  # noqa: NPY002 - the examples draw from it
    copy = doctest.DocTest(test.examples, dict(vars(module)), test.name, test.filename, 0, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit(10):
                runner.run(copy, out=lambda _text: None)
        except TimeLimitError:
            runner.seen.append(("", "took too long"))
    told = [("", f"{w.filename}:{w.lineno}: {w.category.__name__}: {w.message}") for w in caught]
    return runner.seen + told


def modules(package: str) -> Iterator[str]:
    """Yield the modules of a package that can be imported, tests left out."""
    found = import_module(package)
    yield package
    for part in pkgutil.walk_packages(
        getattr(found, "__path__", ()), f"{package}.", lambda _: None
    ):
        if not any(word in part.name for word in ("test", "plot", "numba", "__main__")):
            try:
                import_module(part.name)
            except (Exception, SystemExit):
                continue
            yield part.name


def compared(package: str) -> tuple[int, list[str]]:
    """Return the number of examples of a package, and a text for each docstring that differs."""
    total, different = 0, []
    for name in modules(package):
        original, adapted = import_module(name), fd.adapt(name)
        if getattr(original, "__test__", {}) is None:
            continue
        for test in doctest.DocTestFinder(parser=Parser()).find(original, name):
            if not test.examples:
                continue
            first, again = outcome(test, original), outcome(test, original)
            pairs = zip_longest(first, again, outcome(test, adapted), fillvalue=("", "nothing"))
            total += len(test.examples)
            for wanted, same, found in pairs:
                if wanted == same != found:
                    source, text = wanted
                    different.append(f"{test.name}: {source!r} {text!r} became {found[1]!r}")
                    break
    return total, different


def main() -> None:
    """Print what differs in the packages that are named."""
    for package in sys.argv[1:]:
        total, different = compared(package)
        print(f"{package}: {total} examples, {len(different)} docstrings differ", flush=True)
        print(*(f"  {text}" for text in different), sep="\n", flush=True)


if __name__ == "__main__":
    main()
