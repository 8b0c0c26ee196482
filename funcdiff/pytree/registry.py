"""The registry of container classes: built in, recognised by fields, or registered."""

from __future__ import annotations

import dataclasses
import inspect
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final, TypeVar

from funcdiff.errors import PytreeError

# ---- Classes of containers: how a `Kind` takes them apart and rebuilds them, and its errors ------


class ContainerError(Exception):
    """A container that cannot be opened; caught by `flatten`, which adds the path."""

    def __init__(self, entry: str, problem: str) -> None:
        super().__init__(problem)
        self.entry = entry


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """How one class of containers is opened, rebuilt, addressed and printed.

    Containers with labels for the axes of their arrays, as xarray's, have three fields more.
    """

    cls: type
    to_children: Callable[[Any], tuple[Iterable[Any], Any]]
    from_children: Callable[[Any, list[Any]], Any]
    entries: Callable[[Any, int], Iterable[str]]
    show: Callable[[Any, list[str]], str]
    keys: Callable[[Any], tuple[Hashable, ...]] | None = None
    rows: Callable[[Any, list[Any]], Any] | None = None  # rebuilds around rows of Jacobians
    fits: Callable[[Any, Any], bool] | None = None  # whether the labels of two are the same
    without_axes: Callable[[Any, list[int | None]], Any] | None = (
        None  # aux without axes of the arrays
    )


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


# ---- Classes that are containers by their fields: named tuples, dataclasses, attrs classes -------
#
# A class is known by its looks, so attrs is never imported.  Instances are rebuilt field by field,
# without ``__init__``, ``__post_init__`` and validators: these are for users' values and would
# reject tracers.


def record_kind(cls: type) -> Kind | None:
    """Return the kind of a class that has fields, None of any other."""
    if issubclass(cls, tuple):
        names = getattr(cls, "_fields", None)
        return _kind_of_named_tuple(cls, names) if isinstance(names, tuple) else None
    if isinstance(getattr(cls, "__attrs_attrs__", None), tuple):
        return _by_fields(cls, cls.__attrs_attrs__, "attrs class")  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(cls):
        return _by_fields(cls, dataclasses.fields(cls), "dataclass")
    return None


def _kind_of_named_tuple(cls: type, fields: tuple[str, ...]) -> Kind:
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


def _by_fields(cls: Any, fields: Sequence[Any], what: str) -> Kind:
    """Take an object by its fields, `init=False` ones included; static fields are no children."""
    names = tuple(field.name for field in fields if not field.metadata.get("static", False))
    static_names = tuple(field.name for field in fields if field.metadata.get("static", False))
    every = frozenset(names + static_names)
    rebuildable = _has_only_fields(cls)

    def to_children(tree: Any) -> tuple[Iterable[Any], Any]:
        if not rebuildable:
            raise ContainerError(
                "",
                f"the {what} {cls.__name__} cannot be rebuilt from its fields, because it "
                "derives from another built-in class. Use `register` to say how it is rebuilt",
            )
        if len(getattr(tree, "__dict__", ())) > len(every):
            _refuse_further_attributes(tree, every)
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
            must_be_hashable(f".{name}", f"this static field of {cls.__name__}", value)
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


def _refuse_further_attributes(tree: Any, fields: frozenset[str]) -> None:
    """Refuse attributes beside the fields, which would get lost or fall back to the class's.

    Those of `cached_property` may get lost: they are computed anew, and differentiated.
    """
    cls = type(tree)
    for name in vars(tree):
        known = name in fields or (name.startswith("__") and name.endswith("__"))
        if known or isinstance(inspect.getattr_static(cls, name, None), cached_property):
            continue
        raise ContainerError(
            f".{name}",
            f"this attribute of {cls.__name__} is none of its fields, so it would be lost. Declare "
            "it as a field, with `init=False` and perhaps `metadata={'static': True}`, or make it "
            "a `functools.cached_property`",
        )


# ---- The containers of Python and its standard library -------------------------------------------


def _show_dict(keys: tuple[Hashable, ...], shown: list[str]) -> str:
    return "{" + ", ".join(f"{k!r}: {s}" for k, s in zip(keys, shown, strict=True)) + "}"


def _by_key(keys: tuple[Hashable, ...], _: int) -> Iterable[str]:
    return (f"[{key!r}]" for key in keys)


def _mapping(cls: type, close: Callable[[Any], Any], show: Callable[[Any, list[str]], str]) -> Kind:
    """Take a mapping by its values, in its own order; `close` makes one from pairs."""
    return Kind(
        cls,
        lambda tree: (tree.values(), tuple(tree)),
        lambda keys, children: close(zip(keys, children, strict=True)),
        _by_key,
        show,
        keys=lambda keys: keys,
    )


def _show_defaultdict(aux: Any, shown: list[str]) -> str:
    factory = getattr(aux[0], "__name__", repr(aux[0]))
    return f"defaultdict({factory}, {_show_dict(aux[1], shown)})"


def _show_namespace(names: tuple[str, ...], shown: list[str]) -> str:
    named = (f"{name}={text}" for name, text in zip(names, shown, strict=True))
    return f"namespace({', '.join(named)})"


STANDARD: Final = (
    Kind(type(None), lambda _: ((), None), lambda _, __: None, by_index, lambda _, __: "None"),
    Kind(
        list,
        lambda tree: (tree, None),
        lambda _, children: children,
        by_index,
        lambda _, shown: f"[{', '.join(shown)}]",
    ),
    Kind(
        tuple,
        lambda tree: (tree, None),
        lambda _, children: tuple(children),
        by_index,
        lambda _, shown: f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})",
    ),
    Kind(
        deque,
        lambda tree: (tree, tree.maxlen),
        lambda maxlen, children: deque(children, maxlen),
        by_index,
        lambda maxlen, shown: (
            f"deque([{', '.join(shown)}]{'' if maxlen is None else f', maxlen={maxlen}'})"
        ),
    ),
    _mapping(dict, dict, _show_dict),
    _mapping(OrderedDict, OrderedDict, lambda keys, s: f"OrderedDict({_show_dict(keys, s)})"),
    Kind(
        defaultdict,
        lambda tree: (tree.values(), (tree.default_factory, tuple(tree))),
        lambda aux, children: defaultdict(aux[0], zip(aux[1], children, strict=True)),
        lambda aux, count: _by_key(aux[1], count),
        _show_defaultdict,
        keys=lambda aux: aux[1],
    ),
    Kind(
        SimpleNamespace,
        lambda tree: (vars(tree).values(), tuple(vars(tree))),
        lambda names, children: SimpleNamespace(**dict(zip(names, children, strict=True))),
        lambda names, _: (f".{name}" for name in names),
        _show_namespace,
        keys=lambda names: names,
    ),
)


Class = TypeVar("Class")

homes: Final[dict[str, Callable[[], object]]] = {}
"""What registers the classes of a package, when the first object of one is met."""

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
        home = homes.get(str(cls.__module__).partition(".")[0])
        if home is not None and cls not in self.registered:
            home()
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
