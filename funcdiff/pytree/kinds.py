"""Classes of containers: how a `Kind` takes them apart and rebuilds them, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any


class ContainerError(Exception):
    """A container that cannot be opened; caught by `flatten`, which adds the path."""

    def __init__(self, entry: str, problem: str) -> None:
        super().__init__(problem)
        self.entry = entry


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """How one class of containers is opened, rebuilt, addressed and printed."""

    cls: type
    to_children: Callable[[Any], tuple[Iterable[Any], Any]]
    from_children: Callable[[Any, list[Any]], Any]
    entries: Callable[[Any, int], Iterable[str]]
    show: Callable[[Any, list[str]], str]
    keys: Callable[[Any], tuple[Hashable, ...]] | None = None


def by_index(_: Any, count: int) -> Iterable[str]:
    """Address children by their places."""
    return (f"[{i}]" for i in range(count))


def must_be_hashable(entry: str, what: str, value: Any) -> None:
    """Refuse a static value that cannot be part of a key."""
    try:
        hash(value)
    except TypeError:
        raise ContainerError(
            entry,
            f"{what} holds an unhashable {type(value).__name__}, and what is static must be "
            "hashable: it is part of cache keys. Make it a tuple or another hashable value, or "
            "no longer static",
        ) from None
