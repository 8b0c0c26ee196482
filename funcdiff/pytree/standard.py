"""The containers of Python and its standard library."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from types import SimpleNamespace
from typing import Any, Final

from funcdiff.pytree.kinds import Kind, by_index


def _show_list(_: Any, shown: list[str]) -> str:
    return f"[{', '.join(shown)}]"


def _show_tuple(_: Any, shown: list[str]) -> str:
    return f"({shown[0]},)" if len(shown) == 1 else f"({', '.join(shown)})"


def _show_deque(maxlen: int | None, shown: list[str]) -> str:
    return f"deque([{', '.join(shown)}]{'' if maxlen is None else f', maxlen={maxlen}'})"


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


def _open_defaultdict(tree: defaultdict[Any, Any]) -> tuple[Iterable[Any], Any]:
    return tree.values(), (tree.default_factory, tuple(tree))


def _close_defaultdict(aux: Any, children: list[Any]) -> defaultdict[Any, Any]:
    return defaultdict(aux[0], zip(aux[1], children, strict=True))


def _show_defaultdict(aux: Any, shown: list[str]) -> str:
    factory = getattr(aux[0], "__name__", repr(aux[0]))
    return f"defaultdict({factory}, {_show_dict(aux[1], shown)})"


def _show_namespace(names: tuple[str, ...], shown: list[str]) -> str:
    named = (f"{name}={text}" for name, text in zip(names, shown, strict=True))
    return f"namespace({', '.join(named)})"


STANDARD: Final = (
    Kind(type(None), lambda _: ((), None), lambda _, __: None, by_index, lambda _, __: "None"),
    Kind(list, lambda tree: (tree, None), lambda _, children: children, by_index, _show_list),
    Kind(
        tuple, lambda tree: (tree, None), lambda _, children: tuple(children), by_index, _show_tuple
    ),
    Kind(
        deque,
        lambda tree: (tree, tree.maxlen),
        lambda maxlen, children: deque(children, maxlen),
        by_index,
        _show_deque,
    ),
    _mapping(dict, dict, _show_dict),
    _mapping(OrderedDict, OrderedDict, lambda keys, s: f"OrderedDict({_show_dict(keys, s)})"),
    Kind(
        defaultdict,
        _open_defaultdict,
        _close_defaultdict,
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
