"""The structure of a tree: its containers without its leaves, as a value."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

from funcdiff.pytree.kinds import Kind
from funcdiff.pytree.registry import kinds
from funcdiff.pytree.statics import static_key


class Structure:
    """The shape of a tree without its leaves: immutable, hashable, compared by value.

    Two structures are equal when they would rebuild the same containers: the same classes, the
    same dict keys in the same order, and static values that nothing tells apart (``1`` and ``1.0``
    differ, and so do ``0.0`` and ``-0.0``), so that a structure may stand in a cache key.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> leaves, structure = pytree.flatten({"w": 1.0, "b": [2.0, 3.0]})
    >>> structure
    {'w': *, 'b': [*, *]}
    >>> structure.leaf_count
    3
    """

    __slots__ = ("_aux", "_children", "_hash", "_kind", "_leaf_count")

    def __init__(
        self, kind: Kind | None, aux: Any, children: tuple[Structure, ...], leaf_count: int
    ) -> None:
        self._kind = kind
        self._aux = aux
        self._children = children
        self._leaf_count = leaf_count
        self._hash: int | None = None if kind else hash(aux)

    @property
    def leaf_count(self) -> int:
        """The number of leaves."""
        return self._leaf_count

    @property
    def container(self) -> type | None:
        """The class of the outermost container, None for a leaf."""
        return None if self._kind is None else self._kind.cls

    @property
    def children(self) -> tuple[Structure, ...]:
        """The structures of what the outermost container holds."""
        return self._children

    @property
    def keys(self) -> tuple[Hashable, ...]:
        """The keys of the outermost container, if it has any."""
        of = None if self._kind is None else self._kind.keys
        return () if of is None else of(self._aux)

    def __hash__(self) -> int:
        value = self._hash
        if value is None:
            assert self._kind is not None
            value = self._hash = hash((self._kind.cls, static_key(self._aux), self._children))
        return value

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Structure):
            return NotImplemented
        if self._kind is None or other._kind is None:
            return False
        return (
            self._kind.cls is other._kind.cls
            and self._children == other._children
            and same_value(self._aux, other._aux)
        )

    def __repr__(self) -> str:
        if self._kind is None:
            return "*"
        return self._kind.show(self._aux, [repr(child) for child in self._children])

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self._kind is None:
            return "LEAF"
        return _structure_of, (self._kind.cls, self._aux, self._children)


LEAF: Final = Structure(None, None, (), 1)
"""The structure of a single leaf; there is only this one."""


def _structure_of(cls: type, aux: Any, children: tuple[Structure, ...]) -> Structure:
    """Rebuild a pickled or copied structure."""
    return Structure(kinds[cls], aux, children, sum(child.leaf_count for child in children))


def same_value(a: Any, b: Any) -> bool:
    """Tell whether nothing tells two static values apart."""
    if a is b:
        return True
    if type(a) is tuple and type(b) is tuple:
        if len(a) != len(b):
            return False
        for x, y in zip(a, b, strict=True):  # noqa: SIM110 -- a generator costs twice the time
            if x is not y and not same_value(x, y):
                return False
        return True
    return static_key(a) == static_key(b)
