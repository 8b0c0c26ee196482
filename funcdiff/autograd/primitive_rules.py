"""The rules of primitives, by function: ``primitive_vjps`` and ``primitive_jvps``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any
from weakref import WeakSet

Maker = Callable[..., Any]


class Rules(MutableMapping[Any, Maker]):
    """The rules of primitives, by function; they are kept with these, and go with them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._functions: WeakSet[Any] = WeakSet()

    def __getitem__(self, fun: Any) -> Maker:
        found: Maker = getattr(fun, "__dict__", {})[self._name]
        return found

    def __setitem__(self, fun: Any, maker: Maker) -> None:
        setattr(fun, self._name, maker)
        self._functions.add(fun)

    def __delitem__(self, fun: Any) -> None:
        del getattr(fun, "__dict__", {})[self._name]
        self._functions.discard(fun)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


primitive_vjps, primitive_jvps = Rules("_vjp_rule"), Rules("_jvp_rule")
