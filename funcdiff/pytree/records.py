"""Classes that are containers by their fields: named tuples, dataclasses, attrs classes.

A class is known by its looks, so attrs is never imported.  Instances are rebuilt field by field,
without ``__init__``, ``__post_init__`` and validators: these are for users' values and would
reject tracers.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from funcdiff.pytree.kinds import ContainerError, Kind, must_be_hashable


def record_kind(cls: type) -> Kind | None:
    """Return the kind of a class that has fields, None of any other."""
    if issubclass(cls, tuple):
        names = getattr(cls, "_fields", None)
        return _named_tuple(cls, names) if isinstance(names, tuple) else None
    if isinstance(getattr(cls, "__attrs_attrs__", None), tuple):
        return _by_fields(cls, cls.__attrs_attrs__, "attrs class")  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(cls):
        return _by_fields(cls, dataclasses.fields(cls), "dataclass")
    return None


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
