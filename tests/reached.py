"""What the code of a test leads to, through functions and tables of the tests that it names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any


@cache
def leads_to(test: Callable[..., Any], wanted: object) -> bool:
    """Whether a test names an object, or something of the tests that does."""
    left: list[Any] = [test]
    seen: set[int] = set()
    while left:
        thing = left.pop()
        if thing is wanted:
            return True
        if id(thing) not in seen:
            seen.add(id(thing))
            left += _parts(thing)
    return False


def _parts(thing: Any) -> Iterator[Any]:
    """Yield what a function of the tests names and closes over, or what a table has."""
    if isinstance(thing, FunctionType):
        if (thing.__module__ or "tests.").startswith("tests."):  # none where it was made by `exec`
            yield from (cell.cell_contents for cell in thing.__closure__ or ())
            yield from _named(thing.__code__, thing.__globals__)
    elif isinstance(thing, partial):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif type(thing) is dict:
        yield from thing.values()
    elif type(thing) in (list, tuple):
        yield from thing


def _named(code: CodeType, names: Mapping[str, Any]) -> Iterator[Any]:
    """Yield what code names, by itself or in a module of the tests."""
    found = [names[name] for name in code.co_names if name in names]
    yield from found
    for module in found:
        if isinstance(module, ModuleType) and module.__name__.startswith("tests."):
            yield from (vars(module)[name] for name in code.co_names if name in vars(module))
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named(inner, names)
