"""Classes become containers by registration; types are remembered, by many threads at once."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from funcdiff import pytree
from funcdiff.errors import PytreeError
from funcdiff.pytree import LEAF


@dataclass
class Point:
    x: Any


class Circle:
    def __init__(self, radius: Any, colour: Any) -> None:
        self.radius, self.colour = radius, colour


pytree.register(
    Circle,
    lambda circle: ([circle.radius], circle.colour),
    lambda colour, children: Circle(children[0], colour),
)


def test_a_registered_class_is_opened_and_rebuilt_as_told() -> None:
    leaves, structure = pytree.flatten({"c": Circle(2.0, "red")})
    again = pytree.unflatten(structure, [3.0])["c"]
    assert leaves == [2.0]
    assert (again.radius, again.colour) == (3.0, "red")


def test_a_class_is_registered_once() -> None:
    with pytest.raises(PytreeError, match="Circle is already registered"):
        pytree.register(Circle, lambda c: ((), None), lambda aux, children: Circle(0, aux))


@pytest.mark.parametrize("cls", [list, dict, tuple, type(None), OrderedDict])
def test_a_class_of_containers_cannot_be_registered_again(cls: type) -> None:
    with pytest.raises(PytreeError, match="already registered"):
        pytree.register(cls, lambda c: ((), None), lambda aux, children: cls())


@pytest.mark.parametrize("cls", [float, str, bool])
def test_numbers_and_text_stay_leaves(cls: type) -> None:
    with pytest.raises(PytreeError, match="always a leaf"):
        pytree.register(cls, lambda c: ((), None), lambda aux, children: cls())


def test_only_classes_are_registered() -> None:
    not_a_class: Any = Circle(1, "red")
    with pytest.raises(PytreeError, match="takes a class"):
        pytree.register(not_a_class, lambda c: ((), None), lambda aux, children: not_a_class)


def test_nothing_is_left_behind_by_a_registration_that_failed() -> None:
    class Unlucky:
        pass

    anything: Any = None
    to_children: Callable[[Any], Any] = lambda _: ([1.0], None)
    from_children: Callable[[Any, Any], Any] = lambda aux, children: Unlucky()
    with pytest.raises(PytreeError, match=r"got None for `to_children`. Give a function"):
        pytree.register(Unlucky, anything, from_children)
    with pytest.raises(PytreeError, match=r"got None for `from_children`. Give a function"):
        pytree.register(Unlucky, to_children, anything)
    with pytest.raises(PytreeError, match=r"got names='radius'. Give a sequence of names"):
        pytree.register(Unlucky, to_children, from_children, "radius")
    unlucky = Unlucky()
    assert pytree.flatten(unlucky) == ([unlucky], LEAF)
    pytree.register(Unlucky, to_children, from_children)
    assert pytree.flatten(unlucky)[0] == [1.0]


def test_names_of_children_appear_in_paths() -> None:
    class Ring:
        pass

    children = [1.0, 2.0]
    pytree.register(Ring, lambda _: (children, None), lambda *_: Ring(), ("inner", "outer"))
    assert pytree.paths(pytree.flatten([Ring()])[1]) == ["[0].inner", "[0].outer"]
    children.append(3.0)
    with pytest.raises(PytreeError, match=r"tree\[0\]: .* 3 children, but .* with 2 names"):
        pytree.flatten([Ring()])


@pytest.mark.parametrize("result", [[1.0], (1.0, 2, 3), None])
def test_a_registration_that_returns_no_pair_is_refused(result: Any) -> None:
    class Odd:
        pass

    pytree.register(Odd, lambda odd: result, lambda aux, children: Odd())
    with pytest.raises(PytreeError, match=r"At tree\[1\]: `to_children` of Odd returned .* pair"):
        pytree.flatten([1.0, Odd()])


def test_exceptions_of_a_registered_function_pass_untouched() -> None:
    class Broken:
        pass

    def fail(_: Any) -> Any:
        raise TypeError("mine")

    pytree.register(Broken, fail, lambda aux, children: Broken())
    with pytest.raises(TypeError, match=r"^mine$"):
        pytree.flatten([Broken()])


def test_registration_counts_even_after_the_class_was_met_as_a_leaf() -> None:
    class Late:
        pass

    late = Late()
    assert pytree.flatten(late) == ([late], LEAF)
    pytree.register(Late, lambda _: ([1.0], None), lambda aux, children: Late())
    assert pytree.flatten(late)[0] == [1.0]


def test_a_dataclass_may_be_registered_to_be_taken_otherwise() -> None:
    @dataclass
    class Opaque:
        x: float
        y: float

    assert pytree.flatten(Opaque(1.0, 2.0))[0] == [1.0, 2.0]
    pytree.register(Opaque, lambda o: ([o.x], o.y), lambda y, children: Opaque(children[0], y))
    assert pytree.flatten(Opaque(1.0, 2.0))[0] == [1.0]


def test_children_may_come_from_a_generator() -> None:
    class Lazy:
        pass

    pytree.register(Lazy, lambda _: ((x for x in (1, 2)), None), lambda aux, children: Lazy())
    assert pytree.flatten([Lazy()])[0] == [1, 2]


def test_threads_meet_and_register_classes_at_once() -> None:
    def meet(number: int) -> int:
        cls = type(f"Box{number}", (), {})
        to_children: Callable[[Any], Any] = lambda box: ([number, number], None)
        pytree.register(cls, to_children, lambda aux, children: cls())
        return pytree.flatten([cls() for _ in range(20)])[1].leaf_count

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(meet, range(200))) == [40] * 200


def test_classes_without_end_do_not_fill_the_memory() -> None:
    point = pytree.flatten(Point(1))[1]
    for number in range(5000):
        pytree.flatten(type(f"Leaf{number}", (), {})())
    assert pytree.flatten(Point(1))[1] == point
    assert pytree.flatten(Circle(1, "red"))[0] == [1]
