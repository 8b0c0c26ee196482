"""Trees as flat lists and a structure: taking them apart, putting them together, mapping them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from funcdiff.errors import PytreeError, user_location
from funcdiff.pytree.registry import ContainerError, Kind, kinds
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

    @property
    def is_labelled(self) -> bool:
        """Whether the outermost container has labels for the axes of its arrays."""
        return self._kind is not None and self._kind.without_axes is not None

    @property
    def has_labels(self) -> bool:
        """Whether there is a container with labels in it."""
        return self.is_labelled or any(child.has_labels for child in self._children)

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

    def __str__(self) -> str:
        """Say in messages what a value has to look like."""
        return "one value" if self._kind is None else repr(self)

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


# ---- The walks over a tree: taking it apart, putting it together, mapping it ---------------------


Tree = TypeVar("Tree")


class MismatchError(Exception):
    """Trees that differ; caught by those who know what the trees are."""

    def __init__(self, path: str, expected: Structure, found: Structure) -> None:
        super().__init__(f"{path} has {found}, expected {expected}")
        self.path, self.expected, self.found = path, expected, found


DEEPEST: Final = 200
"""Levels of nesting that are accepted: it keeps every walk well inside Python's own stack."""


def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Structure]:
    """Split a tree into the list of its leaves and its structure.

    Parameters
    ----------
    tree : any
        A container of any nesting, or a leaf (then it is the only one). Nothing is copied.
    is_leaf : callable, optional
        Says of a container whether it is taken for a leaf.

    Returns
    -------
    leaves : list
        The leaves from left to right, dicts in their own order.
    structure : Structure
        What is left; `unflatten` puts the two together again.

    Raises
    ------
    PytreeError
        If a container holds itself, is nested deeper than 200 levels, has a static value that
        is not hashable, or is a dataclass instance with an unset field.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> pytree.flatten({"w": 1.0, "b": (2.0, None)})
    ([1.0, 2.0], {'w': *, 'b': (*, None)})
    """
    kind = kinds[type(tree)]
    if kind is None or (is_leaf is not None and is_leaf(tree)):
        return [tree], LEAF
    leaves: list[Any] = []
    try:
        return leaves, _gather(tree, kind, leaves, 1, is_leaf)
    except ContainerError:
        _refuse(tree, "", [])
        raise


def _gather(
    tree: Any, kind: Kind, leaves: list[Any], depth: int, is_leaf: Callable[[Any], bool] | None
) -> Structure:
    """Append the leaves of a container; the path is not followed here, for speed."""
    if depth > DEEPEST:
        raise ContainerError("", "too deep")
    children, aux = kind.to_children(tree)
    before = len(leaves)
    nodes = []
    for child in children:
        child_kind = kinds[type(child)]
        if child_kind is None or (is_leaf is not None and is_leaf(child)):
            leaves.append(child)
            nodes.append(LEAF)
        else:
            nodes.append(_gather(child, child_kind, leaves, depth + 1, is_leaf))
    return Structure(kind, aux, tuple(nodes), len(leaves) - before)


def _refuse(tree: Any, path: str, ancestors: list[Any]) -> None:
    """Walk a tree that `_gather` error until its fault is met again, and raise with the path."""
    kind = kinds[type(tree)]
    if kind is None:
        return
    if any(tree is ancestor for ancestor in ancestors):
        raise PytreeError(
            f"The {type(tree).__name__} at tree{path} contains itself, so it has no end. "
            "Break the cycle: refer to the container by a name or an index instead."
        ) from None
    if len(ancestors) >= DEEPEST:
        raise PytreeError(
            f"The containers are nested deeper than {DEEPEST} levels, at tree{path[:60]}... "
            "Keep a long chain in one flat list, or stack its arrays into one."
        ) from None
    try:
        children, aux = kind.to_children(tree)
    except ContainerError as error:
        raise PytreeError(f"At tree{path}{error.entry}: {error}.") from None
    children = list(children)
    entries = kind.entries(aux, len(children))
    for entry, child in zip(entries, children, strict=True):
        _refuse(child, path + entry, [*ancestors, tree])


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """Rebuild the containers of a structure around new leaves; the inverse of `flatten`.

    Dataclass instances are rebuilt without ``__init__`` and ``__post_init__``, and named tuples
    without ``__new__``: their checks are for users' values and would reject tracers. Only fields
    come back; attributes set beside them, cached properties for instance, do not.

    Parameters
    ----------
    structure : Structure
        As `flatten` returned it.
    leaves : iterable
        ``structure.leaf_count`` values of any type.

    Returns
    -------
    any
        New containers that hold these very leaves.

    Raises
    ------
    PytreeError
        If the number of leaves is not ``structure.leaf_count``, or it is no structure.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> leaves, structure = pytree.flatten({"w": 1.0, "b": [2.0, 3.0]})
    >>> pytree.unflatten(structure, [10, 20, 30])
    {'w': 10, 'b': [20, 30]}
    """
    _check_structure(structure, "unflatten")
    given = list(leaves)
    if len(given) != structure.leaf_count:
        raise PytreeError(
            f"The structure {structure} takes {structure.leaf_count} leaves, but {len(given)} "
            "were given. Give one leaf for each `*`, in the order in which `flatten` lists them."
        )
    return given[0] if structure is LEAF else _rebuild(structure, iter(given))


def _check_structure(structure: Any, name: str) -> None:
    """Refuse a tree that was given for its structure."""
    if not isinstance(structure, Structure):
        raise PytreeError(
            f"pytree.{name} takes the structure of a tree first, but an object of class "
            f"{type(structure).__name__} was given. Give what flatten(tree) returns second."
        )


def assembler(structure: Structure) -> Callable[[list[Any]], Any]:
    """Return what `unflatten` does with lists of leaves, which it may keep, of the right length."""
    kind, aux = structure._kind, structure._aux
    if kind is None or any(child is not LEAF for child in structure._children):
        return lambda leaves: _rebuild(structure, iter(leaves))
    if kind.cls is tuple:
        return tuple
    from_children = kind.from_children
    return lambda leaves: from_children(aux, leaves)


def _rebuild(structure: Structure, leaves: Iterator[Any]) -> Any:
    kind = structure._kind
    if kind is None:
        return next(leaves)
    children = [
        next(leaves) if child is LEAF else _rebuild(child, leaves) for child in structure._children
    ]
    return kind.from_children(structure._aux, children)


def unflatten_rows(structure: Structure, rows: Iterable[Any]) -> Any:
    """Rebuild the containers of a structure around rows of a Jacobian, one for each leaf.

    Containers with labels give them to the first axes of the blocks, and join them with those of
    the others.
    """
    remaining = iter(rows)

    def rebuild(structure: Structure) -> Any:
        kind = structure._kind
        if kind is None:
            return next(remaining)
        children = [rebuild(child) for child in structure._children]
        return (kind.rows or kind.from_children)(structure._aux, children)

    return rebuild(structure)


def slice_structure(structure: Structure, axes: Sequence[int | None]) -> Structure:
    """Return a structure whose labels are without one axis of each leaf, or None of them."""
    remaining = iter(axes)

    def without(structure: Structure) -> Structure:
        kind = structure._kind
        if kind is None:
            next(remaining)
            return structure
        if kind.without_axes is None:
            children = tuple([without(child) for child in structure._children])
            return Structure(kind, structure._aux, children, structure._leaf_count)
        aux = kind.without_axes(structure._aux, [next(remaining) for _ in structure._children])
        return Structure(kind, aux, structure._children, structure._leaf_count) if aux else LEAF

    return without(structure) if structure.has_labels else structure


def map(f: Callable[..., Any], tree: Tree, *rest: Any) -> Tree:  # noqa: A001
    """Apply a function to every leaf, and return the results in the same containers.

    Further trees must have the same containers; their leaves are passed as further arguments.
    Their dicts are matched by key, in whatever order they stand, although two dicts with the
    same keys in another order are different structures; the result has the order of the first.

    Parameters
    ----------
    f : callable
        A function of ``1 + len(rest)`` leaves.
    tree : any
        The tree that gives the containers of the result.
    *rest : any
        Trees with the same containers.

    Returns
    -------
    any
        A tree like the first. To a type checker it has the very type of the first tree, as in a
        parameter update; where `f` changes the type of leaves, annotate the result as `Any`.

    Raises
    ------
    PytreeError
        If the containers differ; the message gives the path of the first difference.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> params, gradient = {"w": 1.0, "b": [2.0, 3.0]}, {"b": [4.0, 5.0], "w": 6.0}
    >>> pytree.map(lambda p, g: p - 0.5 * g, params, gradient)
    {'w': -2.0, 'b': [0.0, 0.5]}
    """
    leaves, structure = flatten(tree)
    columns = [leaves]
    for position, other in enumerate(rest, start=2):
        try:
            columns.append(leaves_like(structure, other))
        except MismatchError as error:
            raise PytreeError(
                f"The trees differ at tree{error.path}: the first has {error.expected}, tree "
                f"number {position} has {error.found}, at {user_location()}. Give trees with the "
                "same containers, keys and lengths; `None` is an empty container, not a leaf."
            ) from None
    result: Tree = unflatten(structure, [f(*row) for row in zip(*columns, strict=True)])
    return result


def leaves_of(structure: Structure, tree: Any, name: str, model: str) -> list[Any]:
    """List the leaves of what the user gave as `name`, or raise `PytreeError`: unlike `model`."""
    try:
        return leaves_like(structure, tree)
    except MismatchError as error:
        raise PytreeError(
            f"{name}{error.path} is {error.found}, not {error.expected}, at {user_location()}. "
            f"Give a container like {model}."
        ) from None


def leaves_like(
    structure: Structure, tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """List the leaves of a tree in the order of a structure that it has to match.

    Dicts match by key, in whatever order they stand.  Raises `MismatchError` at the first container
    in which they differ.
    """
    leaves, found = flatten(tree, is_leaf)
    return _align(structure, found, leaves, "")


def _align(expected: Structure, found: Structure, leaves: list[Any], path: str) -> list[Any]:
    """Put the leaves of one structure into the order of another that differs in order of keys."""
    if expected == found:
        return leaves
    kind, other = expected._kind, found._kind
    order = None
    if kind is not None and other is not None and kind.cls is other.cls:
        order = _matching(kind, expected, found)
    if kind is None or order is None:
        raise MismatchError(path, expected, found)
    starts = [0]
    for child in found._children:
        starts.append(starts[-1] + child.leaf_count)
    entries = kind.entries(expected._aux, len(order))
    result: list[Any] = []
    for entry, child, i in zip(entries, expected._children, order, strict=True):
        part = leaves[starts[i] : starts[i + 1]]
        result += _align(child, found._children[i], part, path + entry)
    return result


def _matching(kind: Kind, expected: Structure, found: Structure) -> Sequence[int] | None:
    """Tell at which place of `found` each child of `expected` stands, if they match."""
    if kind.keys is not None:
        places = {key: i for i, key in enumerate(kind.keys(found._aux))}
        keys = kind.keys(expected._aux)
        return [places[key] for key in keys] if places.keys() == set(keys) else None
    count = len(expected._children)
    same = len(found._children) == count and (
        same_value(expected._aux, found._aux)
        or (kind.fits is not None and kind.fits(expected._aux, found._aux))
    )
    return range(count) if same else None


def flatten_with_paths(tree: Any) -> tuple[list[tuple[str, Any]], Structure]:
    """Split a tree like `flatten`, with the path of each leaf, such as ``['layers'][2].w``.

    Parameters
    ----------
    tree : any
        A container of any nesting, or a leaf; the path of a bare leaf is the empty string.

    Returns
    -------
    pairs : list of (str, leaf)
        The leaves from left to right. Put the name of the tree before a path to print it.
    structure : Structure
        As `flatten` returns it.

    Raises
    ------
    PytreeError
        As by `flatten`.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> pytree.flatten_with_paths({"w": 1.0, "b": [2.0]})
    ([("['w']", 1.0), ("['b'][0]", 2.0)], {'w': *, 'b': [*]})
    """
    leaves, structure = flatten(tree)
    return list(zip(paths(structure), leaves, strict=True)), structure


def keys_of(structure: Structure) -> list[tuple[Any, ...]]:
    """List what leads to every leaf, as values and not as text, from left to right.

    There is one entry per container around the leaf: the key of a dict in a tuple of its own, the
    number of a place, or the text of a path, such as ``.name``.
    """
    kind = structure._kind
    if kind is None:
        return [()]
    children = structure._children
    entries: list[Any] = list(kind.entries(structure._aux, len(children)))
    for place, entry in enumerate(entries):
        if kind.keys is not None and not entry.startswith("."):
            entries[place] = (kind.keys(structure._aux)[place],)
        elif entry == f"[{place}]":
            entries[place] = place
    return [
        (entry, *rest)
        for entry, child in zip(entries, children, strict=True)
        for rest in keys_of(child)
    ]


def paths(structure: Structure) -> list[str]:
    """List the path of every leaf of a structure, from left to right.

    Parameters
    ----------
    structure : Structure
        As `flatten` returned it.

    Returns
    -------
    list of str
        ``structure.leaf_count`` paths: ``[2]`` for a place in a sequence or a child of a
        registered class, ``['key']`` for a key, ``.name`` for a field.

    Raises
    ------
    PytreeError
        If it is no structure.

    Examples
    --------
    >>> from funcdiff import pytree
    >>> pytree.paths(pytree.flatten({"layers": [1.0, (2.0,)]})[1])
    ["['layers'][0]", "['layers'][1][0]"]
    """
    _check_structure(structure, "paths")
    kind = structure._kind
    if kind is None:
        return [""]
    entries = kind.entries(structure._aux, len(structure._children))
    return [
        entry + path
        for entry, child in zip(entries, structure._children, strict=True)
        for path in paths(child)
    ]
