"""Containers are taken apart and put together without loss."""

import copy
import pickle
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd
from funcdiff import pytree
from funcdiff.errors import FuncdiffError, InputError, PytreeError
from funcdiff.pytree import LEAF
from tests.ids import without_address

Pair = namedtuple("Pair", ["first", "second"])


class Bounds(NamedTuple):
    low: Any
    high: Any


class Positive(NamedTuple("Positive", [("value", Any)])):
    def __new__(cls, value: Any) -> "Positive":
        if not value > 0:
            raise ValueError("not positive")
        return super().__new__(cls, value)


@dataclass
class Layer:
    w: Any
    b: Any = None
    size: Any = field(default=3, metadata={"static": True})


@dataclass(frozen=True, slots=True)
class Checked:
    x: float
    double: float = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.x, float):
            raise TypeError("x must be a float")
        object.__setattr__(self, "double", 2 * self.x)


class Circle:
    def __init__(self, radius: Any, colour: Any) -> None:
        self.radius, self.colour = radius, colour


pytree.register(
    Circle,
    lambda circle: ([circle.radius], circle.colour),
    lambda colour, children: Circle(children[0], colour),
)

TREES = [
    1.0,
    None,
    [],
    (),
    {},
    [1, [2, (3, None)], {"a": 4}],
    (1,),
    {"z": 1, 2: [2, 3], None: (4,)},
    OrderedDict([("b", 1), ("a", [2])]),
    defaultdict(int, {"b": 1, "a": 2}),
    deque([1, [2]], maxlen=3),
    SimpleNamespace(b=1, a=[2]),
    Pair(1, [2]),
    Bounds(low=1, high={"a": 2}),
    Layer(w=1, b=[2, 3]),
    Checked(1.0),
]


def structure_of(tree: Any) -> pytree.Structure:
    return pytree.flatten(tree)[1]


@pytest.mark.parametrize("tree", TREES, ids=without_address)
def test_a_tree_comes_back_from_its_leaves_and_structure(tree: Any) -> None:
    leaves, structure = pytree.flatten(tree)
    again = pytree.unflatten(structure, leaves)
    assert again == tree
    assert type(again) is type(tree)
    assert len(leaves) == structure.leaf_count == len(pytree.paths(structure))


@pytest.mark.parametrize("tree", TREES, ids=without_address)
def test_equal_trees_have_equal_structures_and_hashes(tree: Any) -> None:
    first, second = structure_of(tree), structure_of(copy.deepcopy(tree))
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize("tree", TREES, ids=without_address)
def test_structures_survive_pickling_and_copying(tree: Any) -> None:
    structure = structure_of(tree)
    assert pickle.loads(pickle.dumps(structure)) == structure
    assert copy.deepcopy(structure) == structure


def test_the_structures_of_different_trees_differ() -> None:
    structures = [structure_of(tree) for tree in TREES]
    assert len(set(structures)) == len(TREES)


def test_a_leaf_structure_is_a_singleton() -> None:
    assert structure_of(1.0) is LEAF
    assert structure_of(np.ones(3)) is LEAF
    assert pickle.loads(pickle.dumps(LEAF)) is LEAF
    assert copy.deepcopy(LEAF) is LEAF


@pytest.mark.parametrize("leaf", [1, "text", np.ones(2), {1, 2}, Layer, len, frozenset([1])])
def test_everything_that_is_no_container_is_a_leaf(leaf: Any) -> None:
    leaves, structure = pytree.flatten(leaf)
    assert leaves[0] is leaf
    assert structure is LEAF


def test_containers_are_known_by_their_exact_type() -> None:
    class Names(dict[str, Any]):
        pass

    tree = Names(a=1)
    assert pytree.flatten(tree) == ([tree], LEAF)


def test_structures_are_immutable() -> None:
    structure = structure_of([1.0])
    with pytest.raises(AttributeError):
        structure.leaf_count = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        structure.extra = 2  # type: ignore[attr-defined]


def test_dict_order_is_kept_and_keys_are_never_compared() -> None:
    class Key:
        def __eq__(self, other: object) -> bool:
            return self is other

        def __hash__(self) -> int:
            return 1

        def __lt__(self, other: object) -> bool:
            raise AssertionError("keys were sorted")

    tree = {Key(): 1, Key(): 2, "a": 3}
    leaves, structure = pytree.flatten(tree)
    assert leaves == [1, 2, 3]
    assert list(pytree.unflatten(structure, leaves)) == list(tree)


def test_dicts_in_another_order_are_other_structures() -> None:
    assert structure_of({"a": 1, "b": 2}) != structure_of({"b": 1, "a": 2})


def test_a_defaultdict_keeps_its_factory() -> None:
    leaves, structure = pytree.flatten(defaultdict(int, {"a": 1.0}))
    assert pytree.unflatten(structure, leaves)["missing"] == 0
    assert structure != structure_of(defaultdict(dict, {"a": 1.0}))


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (0.0, -0.0), ((1, 2), (1, 2.0)), ("a", b"a"), ((1,), (1, 1))],
    ids=without_address,
)
def test_static_values_are_compared_with_their_types(one: Any, other: Any) -> None:
    assert structure_of(Layer(0, size=one)) == structure_of(Layer(0, size=one))
    assert structure_of(Layer(0, size=one)) != structure_of(Layer(0, size=other))


def test_keys_that_are_equal_but_of_other_types_are_told_apart() -> None:
    assert structure_of({1: 0}) != structure_of({True: 0})


def test_a_structure_is_not_equal_to_anything_else() -> None:
    assert structure_of([1]) != "[*]"
    assert structure_of([1]) != LEAF


@pytest.mark.parametrize(("tree", "text"), [
    (1.0, "*"),
    (None, "None"),
    ({"w": 1, "b": [2, 3]}, "{'w': *, 'b': [*, *]}"),
    ((1,), "(*,)"),
    ((1, ()), "(*, ())"),
    (OrderedDict(a=1), "OrderedDict({'a': *})"),
    (defaultdict(int, a=1), "defaultdict(int, {'a': *})"),
    (defaultdict(None, a=1), "defaultdict(None, {'a': *})"),
    (deque([1, 2]), "deque([*, *])"),
    (deque([1], maxlen=2), "deque([*], maxlen=2)"),
    (SimpleNamespace(a=1), "namespace(a=*)"),
    (Bounds(1, 2), "Bounds(low=*, high=*)"),
    (Layer(1, (2,)), "Layer(w=*, b=(*,), size=3)"),
    (Circle(1, "red"), "Circle(*, aux='red')"),
], ids=without_address)  # fmt: skip
def test_structures_print_as_the_containers_with_stars(tree: Any, text: str) -> None:
    assert repr(structure_of(tree)) == text


def test_paths_are_what_one_would_write() -> None:
    tree = {"layers": [0, {3: 1}, Layer(w=2, b=(3,))], "b": Bounds(4, Circle(5, "red"))}
    pairs, structure = pytree.flatten_with_paths(tree)
    assert pairs == [
        ("['layers'][0]", 0),
        ("['layers'][1][3]", 1),
        ("['layers'][2].w", 2),
        ("['layers'][2].b[0]", 3),
        ("['b'].low", 4),
        ("['b'].high[0]", 5),
    ]
    assert pytree.paths(structure) == [path for path, _ in pairs]
    assert pytree.paths(LEAF) == [""]


def test_a_dataclass_is_rebuilt_without_running_its_checks() -> None:
    structure = structure_of(Checked(1.0))
    again = pytree.unflatten(structure, [None, "tracer"])
    assert (again.x, again.double) == (None, "tracer")


def test_a_named_tuple_is_rebuilt_without_running_its_checks() -> None:
    assert pytree.unflatten(structure_of(Positive(1)), [-1]).value == -1


def test_an_unset_field_is_refused_with_its_path() -> None:
    @dataclass
    class Lazy:
        x: float
        cache: float = field(init=False)

    with pytest.raises(PytreeError, match=r"At tree\[0\]\.cache: this field of Lazy has no value"):
        pytree.flatten([Lazy(1.0)])


@pytest.mark.parametrize("static", [np.ones(2), [1], (1, [2])], ids=without_address)
def test_an_unhashable_static_value_is_refused_with_its_path_and_the_cure(static: Any) -> None:
    with pytest.raises(PytreeError, match=r"At tree\['a'\]\[1\]\.size: .*Make it a tuple"):
        pytree.flatten({"a": [1.0, Layer(1.0, size=static)]})
    with pytest.raises(PytreeError, match=r"At tree\['a'\]: the aux .*Make it a tuple"):
        pytree.flatten({"a": Circle(1.0, static)})


def test_a_dataclass_that_cannot_be_rebuilt_is_refused() -> None:
    @dataclass
    class RecordError(Exception):
        x: float

    with pytest.raises(PytreeError, match=r"cannot be rebuilt from its fields.*`register`"):
        pytree.flatten(RecordError(1.0))


def test_a_cyclic_container_is_refused_with_the_path_of_the_cycle() -> None:
    inner: dict[str, Any] = {"x": 1.0}
    tree = [0.0, inner]
    inner["back"] = tree
    with pytest.raises(PytreeError, match=r"list at tree\[1\]\['back'\] contains itself") as info:
        pytree.flatten(tree)
    assert isinstance(info.value, FuncdiffError)
    assert info.value.__suppress_context__


def test_a_container_met_twice_is_not_a_cycle() -> None:
    shared = [1.0]
    assert pytree.flatten([shared, shared])[0] == [1.0, 1.0]


def nested(depth: int) -> Any:
    tree: Any = 1.0
    for _ in range(depth):
        tree = [tree]
    return tree


def test_two_hundred_levels_work_in_every_function() -> None:
    leaves, structure = pytree.flatten(nested(200))
    assert structure == structure_of(nested(200))
    assert hash(structure) == hash(structure_of(nested(200)))
    assert pytree.unflatten(structure, leaves) == nested(200)
    assert pytree.paths(structure) == ["[0]" * 200]
    assert len(repr(structure)) == 401


@pytest.mark.parametrize("depth", [201, 10_000])
def test_deeper_nesting_is_refused(depth: int) -> None:
    with pytest.raises(PytreeError, match="deeper than 200 levels"):
        pytree.flatten(nested(depth))


@pytest.mark.parametrize("count", [0, 2, 4])
def test_a_wrong_number_of_leaves_is_refused(count: int) -> None:
    with pytest.raises(PytreeError, match=rf"takes 3 leaves, but {count} were given"):
        pytree.unflatten(structure_of([1, (2, 3)]), range(count))


@pytest.mark.parametrize("call", [pytree.paths, lambda tree: pytree.unflatten(tree, [1.0])])
def test_a_tree_in_the_place_of_its_structure_is_refused(call: Any) -> None:
    with pytest.raises(PytreeError, match=r"of class list was given. Give what flatten\(tree\)"):
        call([1.0])


def test_map_applies_the_function_to_matching_leaves() -> None:
    tree = {"w": 1, "b": [2, None]}
    assert pytree.map(lambda x, y, z: x + y * z, tree, tree, tree) == {"w": 2, "b": [6, None]}
    assert pytree.map(abs, -2) == 2


def test_map_matches_dicts_by_key() -> None:
    one = {"a": 1, "b": {"c": 2, "d": [3, 4]}}
    other = {"b": {"d": [30, 40], "c": 20}, "a": 10}
    result = pytree.map(lambda x, y: x + y, one, other)
    assert result == {"a": 11, "b": {"c": 22, "d": [33, 44]}}
    assert list(result) == ["a", "b"]


def test_map_matches_by_key_below_other_containers() -> None:
    one = (Layer({"a": 1, "b": 2}), OrderedDict(p=3, q=4), defaultdict(int, r=5, s=6))
    other = (Layer({"b": 20, "a": 10}), OrderedDict(q=40, p=30), defaultdict(int, s=60, r=50))
    result = pytree.map(lambda x, y: y - x, one, other)
    assert pytree.flatten(result)[0] == [9, 18, 27, 36, 45, 54]


@pytest.mark.parametrize(("other", "place"), [
    ({"a": 1, "b": [2]}, r"tree\['b'\]: the first has \[\*, \*\], tree number 2 has \[\*\]"),
    ({"a": 1, "b": (2, 3)}, r"tree\['b'\]"),
    ({"a": None, "b": [2, 3]}, r"tree\['a'\]: the first has one value, tree number 2 has None"),
    ({"a": 1, "b": [2, [3]]}, r"tree\['b'\]\[1\]"),
    ({"a": 1, "c": [2, 3]}, r"tree: the first has {'a'"),
    ({"a": 1, "b": [2, 3], "c": 1}, r"tree: "),
    (OrderedDict(a=1, b=[2, 3]), r"tree: "),
], ids=str)  # fmt: skip
def test_map_names_the_path_at_which_trees_differ(other: Any, place: str) -> None:
    with pytest.raises(PytreeError, match=f"differ at {place}"):
        pytree.map(lambda x, y: x, {"a": 1, "b": [2, 3]}, other)


def test_map_refuses_static_values_that_differ() -> None:
    with pytest.raises(PytreeError, match=r"differ at tree: .*size=3.*size=4"):
        pytree.map(lambda x, y: x, Layer(1), Layer(1, size=4))


def test_nothing_returned_aliases_the_callers_containers() -> None:
    tree = [1.0, [2.0]]
    leaves, structure = pytree.flatten(tree)
    again = pytree.unflatten(structure, leaves)
    assert again is not tree
    assert again[1] is not tree[1]
    assert leaves is not tree


@pytest.mark.parametrize("names", [{}, {"__array_ufunc__": None}])
def test_objects_of_a_class_without_a_module_are_leaves_and_operands(names: dict[str, Any]) -> None:
    product = {"__rmul__": lambda self, x: x * self.number}
    found = type("Found", (), {"__module__": None, **product, **names})()  # as SymPy's functions
    found.number = 3.0
    assert pytree.flatten([found])[0] == [found]
    assert fd.grad(lambda x, a: x * a)(2.0, found) == 3.0
    with pytest.raises(InputError, match="Found"):
        fd.adapt(found)
