"""The registry of container classes: built in, recognised by fields, or registered."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, TypeVar

from funcdiff.errors import PytreeError
from funcdiff.pytree.kinds import ContainerError, Kind, by_index, must_be_hashable
from funcdiff.pytree.records import record_kind
from funcdiff.pytree.standard import STANDARD

Class = TypeVar("Class")

_TYPES_REMEMBERED: Final = 4096
_NEVER_CONTAINERS: Final = (bool, int, float, complex, str, bytes)


class Kinds(dict[type, Kind | None]):
    """The kind of each type met so far, `None` for leaves; a new type is recognised once.

    Every step leaves it whole, so there is no lock for an interrupt or a fork to find taken.
    """

    def __init__(self) -> None:
        super().__init__((kind.cls, kind) for kind in STANDARD)
        self.registered = dict(self)

    def __missing__(self, cls: type) -> Kind | None:
        if len(self) >= _TYPES_REMEMBERED:
            self.clear()
            self.update(self.registered)
        kind = self[cls] = None if cls in self.registered else record_kind(cls)
        if cls in self.registered:  # perhaps by another thread, a moment ago
            kind = self[cls] = self.registered[cls]
        return kind

    def register(self, kind: Kind) -> None:
        """Add a kind for good, or raise if its class has one already."""
        if self.registered.setdefault(kind.cls, kind) is not kind:
            raise PytreeError(
                f"The class {kind.cls.__name__} is already registered as a container. "
                "Register a class once, next to its definition."
            )
        self[kind.cls] = kind


def _kind_of_registered(
    cls: type,
    to_children: Callable[[Any], tuple[Iterable[Any], Any]],
    from_children: Callable[[Any, list[Any]], Any],
    names: Sequence[str] | None,
) -> Kind:
    def check_children(tree: Any) -> tuple[Iterable[Any], Any]:
        opened = to_children(tree)
        if not isinstance(opened, tuple) or len(opened) != 2:
            raise ContainerError(
                "",
                f"`to_children` of {cls.__name__} returned {type(opened).__name__}. "
                "Return a pair `(children, aux)`, with `None` for aux if there is nothing to keep",
            )
        must_be_hashable("", f"the aux that `to_children` of {cls.__name__} returned", opened[1])
        if names is None:
            return opened
        children = list(opened[0])
        if len(children) != len(names):
            raise ContainerError(
                "",
                f"`to_children` of {cls.__name__} returned {len(children)} children, but it was "
                f"registered with {len(names)} names. Give one name for each child, or none",
            )
        return children, opened[1]

    def show(aux: Any, shown: list[str]) -> str:
        extra = [] if aux is None else [f"aux={aux!r}"]
        return f"{cls.__name__}({', '.join(shown + extra)})"

    if names is None:
        return Kind(cls, check_children, from_children, by_index, show)
    return Kind(cls, check_children, from_children, lambda _, __: (f".{n}" for n in names), show)


kinds: Final = Kinds()


def register(
    cls: type[Class],
    to_children: Callable[[Class], tuple[Iterable[Any], Hashable]],
    from_children: Callable[[Any, list[Any]], Class],
    names: Sequence[str] | None = None,
) -> None:
    """Make instances of a class containers; of this very class, not of its subclasses.

    Parameters
    ----------
    cls : type
        A class that is not yet a registered container. A dataclass or named tuple may be
        registered, to be taken otherwise than by its fields.
    to_children : callable
        ``to_children(obj) -> (children, aux)``: what may hold leaves, and all the rest as one
        hashable value, which becomes part of cache keys.
    from_children : callable
        ``from_children(aux, children) -> obj``; `children` is a list. It is called with tracers
        and other stand-ins for leaves, so it should not convert or check them.
    names : sequence of str, optional
        Names of the children, if they are always the same ones: messages then say
        ``.radius`` where they would say ``[0]``.

    Raises
    ------
    PytreeError
        If `cls` is not a class, is a number or text, or is already registered, or if the
        others are not functions and names. Nothing is registered then.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> class Circle:
    ...     def __init__(self, radius, colour):
    ...         self.radius, self.colour = radius, colour
    >>> pytree.register(
    ...     Circle,
    ...     lambda circle: ([circle.radius], circle.colour),
    ...     lambda colour, children: Circle(children[0], colour),
    ... )
    >>> pytree.flatten(Circle(2.0, "red"))
    ([2.0], Circle(*, aux='red'))
    """
    if not isinstance(cls, type):
        raise PytreeError(
            f"`register` takes a class, but got {cls!r}. Pass the class itself, as in "
            "`register(type(obj), to_children, from_children)`."
        )
    if cls in _NEVER_CONTAINERS:
        raise PytreeError(
            f"The class {cls.__name__} is always a leaf. Register a class of your own that "
            "holds it."
        )
    for what, function in (("to_children", to_children), ("from_children", from_children)):
        if not callable(function):
            raise PytreeError(
                f"`register` of {cls.__name__} got {function!r} for `{what}`. Give a function: "
                "`to_children(obj) -> (children, aux)`, `from_children(aux, children) -> obj`."
            )
    if isinstance(names, str) or not all(isinstance(name, str) for name in names or ()):
        raise PytreeError(
            f"`register` of {cls.__name__} got names={names!r}. Give a sequence of names, one for "
            "each child, such as names=('radius',)."
        )
    fixed = None if names is None else tuple(names)
    kinds.register(_kind_of_registered(cls, to_children, from_children, fixed))
