"""How instances of each class of containers are opened, rebuilt, addressed and printed."""

from __future__ import annotations

import dataclasses
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Final, TypeVar

from funcdiff.errors import PytreeError

Class = TypeVar("Class")

_TYPES_REMEMBERED: Final = 4096
_NEVER_CONTAINERS: Final = (bool, int, float, complex, str, bytes)


class ContainerError(Exception):
    """A container that cannot be opened; caught by `flatten`, which adds the path."""

    def __init__(self, entry: str, problem: str) -> None:
        super().__init__(problem)
        self.entry = entry


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """How one class of containers is opened, rebuilt, addressed and printed."""

    cls: type
    to_children: Callable[[Any], tuple[Iterable[Any], Any]]
    from_children: Callable[[Any, list[Any]], Any]
    entries: Callable[[Any, int], Iterable[str]]
    show: Callable[[Any, list[str]], str]
    keys: Callable[[Any], tuple[Hashable, ...]] | None = None


# The containers known from the start, and those recognised by their looks.


def _by_index(_: Any, count: int) -> Iterable[str]:
    return (f"[{i}]" for i in range(count))


def _show_tuple(_: Any, shown: list[str]) -> str:
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


def _show_dict(keys: tuple[Hashable, ...], shown: list[str]) -> str:
    return "{" + ", ".join(f"{k!r}: {s}" for k, s in zip(keys, shown, strict=True)) + "}"


def _by_key(keys: tuple[Hashable, ...], _: int) -> Iterable[str]:
    return (f"[{key!r}]" for key in keys)


def _open_defaultdict(tree: defaultdict[Any, Any]) -> tuple[Iterable[Any], Any]:
    return tree.values(), (tree.default_factory, tuple(tree))


def _close_defaultdict(aux: Any, children: list[Any]) -> defaultdict[Any, Any]:
    return defaultdict(aux[0], zip(aux[1], children, strict=True))


def _show_defaultdict(aux: Any, shown: list[str]) -> str:
    factory = getattr(aux[0], "__name__", repr(aux[0]))
    return f"defaultdict({factory}, {_show_dict(aux[1], shown)})"


_BUILT_IN: Final = (
    Kind(type(None), lambda _: ((), None), lambda _, __: None, _by_index, lambda _, __: "None"),
    Kind(
        list,
        lambda tree: (tree, None),
        lambda _, children: children,
        _by_index,
        lambda _, shown: f"[{', '.join(shown)}]",
    ),
    Kind(
        tuple,
        lambda tree: (tree, None),
        lambda _, children: tuple(children),
        _by_index,
        _show_tuple,
    ),
    Kind(
        dict,
        lambda tree: (tree.values(), tuple(tree)),
        lambda keys, children: dict(zip(keys, children, strict=True)),
        _by_key,
        _show_dict,
        keys=lambda keys: keys,
    ),
    Kind(
        OrderedDict,
        lambda tree: (tree.values(), tuple(tree)),
        lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
        _by_key,
        lambda keys, shown: f"OrderedDict({_show_dict(keys, shown)})",
        keys=lambda keys: keys,
    ),
    Kind(
        defaultdict,
        _open_defaultdict,
        _close_defaultdict,
        lambda aux, count: _by_key(aux[1], count),
        _show_defaultdict,
        keys=lambda aux: aux[1],
    ),
)


def _named_tuple(cls: type, fields: tuple[str, ...]) -> Kind:
    """Take a named tuple by position; rebuilding it does not call its `__new__`."""

    def show(_: Any, shown: list[str]) -> str:
        named = (f"{name}={text}" for name, text in zip(fields, shown, strict=True))
        return f"{cls.__name__}({', '.join(named)})"

    return Kind(
        cls,
        lambda tree: (tree, None),
        lambda _, children: tuple.__new__(cls, children),
        lambda _, __: (f".{name}" for name in fields),
        show,
    )


def _dataclass(cls: Any) -> Kind:
    """Take a dataclass by its fields, `init=False` ones included; static fields are not children.

    It is rebuilt without `__init__` and `__post_init__`, whose checks would reject tracers.
    """
    fields = dataclasses.fields(cls)
    names = tuple(field.name for field in fields if not field.metadata.get("static", False))
    static_names = tuple(field.name for field in fields if field.metadata.get("static", False))
    rebuildable = _has_only_fields(cls)

    def to_children(tree: Any) -> tuple[Iterable[Any], Any]:
        if not rebuildable:
            raise ContainerError(
                "",
                f"the dataclass {cls.__name__} cannot be rebuilt from its fields, because it "
                "derives from another built-in class. Use `register` to say how it is rebuilt",
            )
        try:
            children = [getattr(tree, name) for name in names]
            aux = tuple([getattr(tree, name) for name in static_names])
        except AttributeError:
            unset = next(f.name for f in fields if not hasattr(tree, f.name))
            raise ContainerError(
                f".{unset}",
                f"this field of {cls.__name__} has no value. Give it one, for instance with "
                f"`field(default=None)` or in `__post_init__`",
            ) from None
        for name, value in zip(static_names, aux, strict=True):
            _must_be_hashable(f".{name}", f"this static field of {cls.__name__}", value)
        return children, aux

    def from_children(aux: Any, children: list[Any]) -> Any:
        tree = object.__new__(cls)
        for name, value in zip(names, children, strict=True):
            object.__setattr__(tree, name, value)
        for name, value in zip(static_names, aux, strict=True):
            object.__setattr__(tree, name, value)
        return tree

    def show(aux: Any, shown: list[str]) -> str:
        text = dict(zip(names, shown, strict=True))
        text |= {n: repr(value) for n, value in zip(static_names, aux, strict=True)}
        return f"{cls.__name__}({', '.join(f'{f.name}={text[f.name]}' for f in fields)})"

    return Kind(cls, to_children, from_children, lambda _, __: (f".{n}" for n in names), show)


def _has_only_fields(cls: type) -> bool:
    """Tell whether an instance can be made bare, which Python refuses below `Exception`, say."""
    try:
        object.__new__(cls)
    except TypeError:
        return False
    return True


def _registered(
    cls: type,
    to_children: Callable[[Any], tuple[Iterable[Any], Any]],
    from_children: Callable[[Any, list[Any]], Any],
) -> Kind:
    def checked(tree: Any) -> tuple[Iterable[Any], Any]:
        opened = to_children(tree)
        if not isinstance(opened, tuple) or len(opened) != 2:
            raise ContainerError(
                "",
                f"`to_children` of {cls.__name__} returned {type(opened).__name__}. "
                "Return a pair `(children, aux)`, with `None` for aux if there is nothing to keep",
            )
        _must_be_hashable("", f"the aux that `to_children` of {cls.__name__} returned", opened[1])
        return opened

    def show(aux: Any, shown: list[str]) -> str:
        extra = [] if aux is None else [f"aux={aux!r}"]
        return f"{cls.__name__}({', '.join(shown + extra)})"

    return Kind(cls, checked, from_children, _by_index, show)


def _must_be_hashable(entry: str, what: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise ContainerError(
            entry,
            f"{what} holds an unhashable {type(value).__name__}, and what is static must be "
            "hashable: it is part of cache keys. Make it a tuple or another hashable value, or "
            "no longer static",
        ) from None


class Kinds(dict[type, Kind | None]):
    """The kind of each type met so far, `None` for leaves; a new type is recognised once."""

    def __init__(self) -> None:
        super().__init__((kind.cls, kind) for kind in _BUILT_IN)
        self.registered = dict(self)
        self.lock = threading.RLock()

    def __missing__(self, cls: type) -> Kind | None:
        with self.lock:
            if len(self) >= _TYPES_REMEMBERED:
                self.clear()
                self.update(self.registered)
            kind = self.registered.get(cls) or _recognise(cls)
            self[cls] = kind
            return kind

    def register(self, kind: Kind) -> None:
        """Add a kind for good, or raise if its class has one already."""
        with self.lock:
            if kind.cls in self.registered:
                raise PytreeError(
                    f"The class {kind.cls.__name__} is already registered as a container. "
                    "Register a class once, next to its definition."
                )
            self.registered[kind.cls] = self[kind.cls] = kind


def _recognise(cls: type) -> Kind | None:
    names = getattr(cls, "_fields", None)
    if issubclass(cls, tuple) and isinstance(names, tuple):
        return _named_tuple(cls, names)
    return _dataclass(cls) if dataclasses.is_dataclass(cls) else None


kinds: Final = Kinds()


def register(
    cls: type[Class],
    to_children: Callable[[Class], tuple[Iterable[Any], Hashable]],
    from_children: Callable[[Any, list[Any]], Class],
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

    Raises
    ------
    PytreeError
        If `cls` is not a class, is a number or text, or is already registered.

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
    kinds.register(_registered(cls, to_children, from_children))
