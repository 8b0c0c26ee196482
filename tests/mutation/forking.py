"""Tests against mistakes in processes forked from one that has collected all of them.

A mistake is planted there by exchanging the code of functions that exist already, so that nothing
is imported or collected again.  What runs while modules are imported cannot be exchanged.
"""

from __future__ import annotations

import ast
import builtins
import gc
import inspect
import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic
from types import CodeType, FunctionType
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

_SECONDS: Final = 60
"""How long a test may take."""


class Exchange(NamedTuple):
    """Codes to exchange.

    Attributes
    ----------
    codes
        The new code for each old one of a function.
    names
        The functions that do something else, as `Suite.touching` names them.
    whole
        Whether nothing differs but functions that can be exchanged.
    """

    codes: dict[CodeType, CodeType]
    names: set[str]
    whole: bool


class Suite:
    """The default tests, collected in this process, and the functions that mistakes are planted in.

    As a plugin of pytest it does what it is asked to do in place of running the tests.
    """

    def __init__(self, work: Callable[[Suite], None]) -> None:
        self._work = work
        self._failed = False
        self._functions: dict[str, list[FunctionType]] = {}
        self.tests: Sequence[pytest.Item] = ()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Work with the tests instead of running them."""
        gc.unfreeze()
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                self._functions.setdefault(thing.__code__.co_filename, []).append(thing)
        gc.freeze()
        self.tests = session.items
        self._work(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notice that a test fails."""
        self._failed = self._failed or report.failed

    def first_failure(
        self, tests: Sequence[pytest.Item], codes: dict[CodeType, CodeType]
    ) -> pytest.Item | None:
        """Return the first test that fails, or does not end, with other code for some functions."""

        def work(say: Callable[[str], None]) -> None:
            self._exchange(codes)
            for k in range(len(tests)):
                say(str(k))
                self._run(tests, k)
                if self._failed:
                    os._exit(1)

        said, ended_well = forked(work)
        return None if ended_well else tests[int(said[-1])]

    def touching(self, paths: set[str]) -> dict[str, dict[str, float]]:
        """Run all tests; return which call each function of some modules, and their seconds."""

        def work(say: Callable[[str], None]) -> None:
            seen: set[str] = set()
            setattr(builtins, _NOTE, seen.add)
            for path in paths:
                tree = _Noting(path).visit(ast.parse(Path(path).read_text()))
                new = compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)
                self._exchange(exchanged(_compiled(path), new).codes)
            for k in range(len(self.tests)):
                seen.clear()
                start = monotonic()
                self._run(self.tests, k)
                say(json.dumps([monotonic() - start, self.tests[k].nodeid, sorted(seen)]))

        touching: dict[str, dict[str, float]] = {}
        for seconds, test, seen in map(json.loads, forked(work)[0]):
            for function in seen:
                touching.setdefault(function, {})[test] = round(seconds, 3)
        return touching

    def _run(self, tests: Sequence[pytest.Item], k: int) -> None:
        following = tests[k + 1] if k + 1 < len(tests) else None
        signal.alarm(_SECONDS)
        tests[k].ihook.pytest_runtest_protocol(item=tests[k], nextitem=following)

    def _exchange(self, codes: dict[CodeType, CodeType]) -> None:
        for path in {code.co_filename for code in codes}:
            for function in self._functions.get(path, ()):
                function.__code__ = codes.get(function.__code__, function.__code__)


OPTIONS: Final = ("-n", "0", "-qq", "-p", "no:cacheprovider")
"""Of pytest, beside those of the project, of which one is for its reporter."""


def collected(work: Callable[[Suite], None]) -> None:
    """Collect the default tests in this process and work with them."""
    pytest.main([*OPTIONS], [Suite(work)])


def forked(work: Callable[[Callable[[str], None]], None]) -> tuple[list[str], bool]:
    """Return the lines that work in a forked process says, and whether it ends well."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        failed = 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # where the reporter writes
        try:
            work(lambda line: _write(writing, line))
            failed = 0
        finally:
            os._exit(failed)
    os.close(writing)
    with open(reading) as lines:
        said = lines.read().splitlines()
    return said, os.waitpid(child, 0)[1] == 0


def _write(file: int, line: str) -> None:
    rest = f"{line}\n".encode()
    while rest:
        rest = rest[os.write(file, rest) :]


def changed(path: str, old: str, new: str) -> Exchange:
    """Return what differs in a module if its text does."""
    source = Path(path).read_text().replace(old, new)
    return exchanged(_compiled(path), compile(source, path, "exec", dont_inherit=True))


def exchanged(old: CodeType, new: CodeType) -> Exchange:
    """Return what differs between two codes of a module."""
    pairs = [*_pairs(old, new, None)]
    differing = [(a, b, owner) for a, b, owner in pairs if _own(a) != _own(b)]
    return Exchange(
        {a: b for a, b, owner in pairs if a != b and owner is not None},
        {f"{a.co_filename}:{owner.co_name}" for a, _, owner in differing if owner is not None},
        all(o and (a is not o or a.co_freevars == b.co_freevars) for a, b, o in differing),
    )


def _compiled(path: str) -> CodeType:
    return compile(Path(path).read_text(), path, "exec", dont_inherit=True)


def _pairs(
    old: CodeType, new: CodeType, owner: CodeType | None
) -> Iterator[tuple[CodeType, CodeType, CodeType | None]]:
    """Yield two codes, then those inside of them, each with the function that it is or is in.

    Where not as many are inside, they come with the function around them.
    """
    is_function = old.co_flags & inspect.CO_NEWLOCALS and old.co_flags & inspect.CO_OPTIMIZED
    is_comprehension = old.co_name in ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
    owner = old if is_function and not is_comprehension else owner
    yield old, new, owner
    if len(_inner(old)) == len(_inner(new)):
        for a, b in zip(_inner(old), _inner(new), strict=True):
            yield from _pairs(a, b, owner)


def _inner(code: CodeType) -> list[CodeType]:
    return [x for x in code.co_consts if isinstance(x, CodeType)]


def _own(code: CodeType) -> tuple[object, ...]:
    """Return what a code does, apart from the codes inside of it and from lines."""
    constants = [None if isinstance(x, CodeType) else (type(x), repr(x)) for x in code.co_consts]
    return code.co_name, code.co_code, code.co_names, code.co_varnames, tuple(constants)


_NOTE: Final = "_note_function_of_funcdiff"


class _Noting(ast.NodeTransformer):
    """Lets every function of a module note its name when it is called."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _note(self, name: str) -> ast.expr:
        return ast.Call(ast.Name(_NOTE, ast.Load()), [ast.Constant(f"{self._path}:{name}")], [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(self._note(node.name)))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        both = ast.Tuple([self._note("<lambda>"), node.body], ast.Load())
        node.body = ast.Subscript(both, ast.Constant(1), ast.Load())
        return node
