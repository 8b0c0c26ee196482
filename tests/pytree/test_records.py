"""Classes with fields are containers: dataclasses of every make, attrs classes, named tuples."""

import subprocess
import sys
from dataclasses import KW_ONLY, InitVar, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import attrs
import numpy as np
import pytest

import funcdiff as fd
from funcdiff import pytree
from funcdiff.errors import InputError, PytreeError
from tests.ids import without_address

T = TypeVar("T")


@dataclass
class Base:
    w: Any
    kind: ClassVar[str] = "class"


@dataclass
class Derived(Base):
    b: Any = 1.0
    _: KW_ONLY
    layers: list[Any] = field(default_factory=lambda: [1.0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Positive:
    x: Any
    log: Any = field(init=False)

    def __post_init__(self) -> None:
        if not self.x > 0:
            raise ValueError("x must be positive")
        object.__setattr__(self, "log", np.log(self.x))


@dataclass
class Box(Generic[T]):
    value: T
    start: InitVar[float] = 0.0

    def __post_init__(self, start: float) -> None:
        self.value = self.value + start  # type: ignore[operator, assignment]


@dataclass
class Cached:
    w: Any

    @cached_property
    def total(self) -> Any:
        return np.sum(self.w)


def even(_: Any, attribute: Any, value: Any) -> None:
    if value % 2:
        raise ValueError(f"{attribute.name} must be even")


@attrs.define
class Dense:
    w: Any
    b: Any = 0.0
    _scale: Any = 2.0
    cache: Any = attrs.field(init=False, factory=list)


@attrs.frozen(kw_only=True)
class Settings:
    rate: float = attrs.field(converter=float)
    steps: int = attrs.field(default=3, metadata={"static": True})


@attrs.define(slots=False)
class Checked:
    x: Any = attrs.field(validator=even)


@attrs.define
class Deep(Dense):
    rest: Any = ()


RECORDS = [
    Derived(1.0, layers=[2.0, {"a": 3.0}]),
    Positive(x=2.0),
    Box(1.0, start=2.0),
    Box[float](1.0),
    Cached(1.0),
    Dense(1.0, [2.0]),
    Settings(rate=1),
    Checked(2),
    Deep(1.0, rest=Settings(rate=2)),
]


@pytest.mark.parametrize("record", RECORDS, ids=without_address)
def test_a_record_comes_back_from_its_leaves_and_structure(record: Any) -> None:
    leaves, structure = pytree.flatten(record)
    again = pytree.unflatten(structure, leaves)
    assert again == record
    assert type(again) is type(record)
    assert pytree.flatten(again)[1] == structure


def test_fields_are_addressed_by_name_through_inheritance() -> None:
    pairs, structure = pytree.flatten_with_paths(Derived(1.0, layers=[2.0, Dense(3.0)]))
    assert [path for path, _ in pairs] == [
        ".w",
        ".b",
        ".layers[0]",
        ".layers[1].w",
        ".layers[1].b",
        ".layers[1]._scale",
    ]
    assert repr(structure) == ("Derived(w=*, b=*, layers=[*, Dense(w=*, b=*, _scale=*, cache=[])])")


def test_static_fields_of_attrs_classes_are_part_of_the_structure() -> None:
    leaves, structure = pytree.flatten(Settings(rate=0.5, steps=4))
    assert leaves == [0.5]
    assert structure != pytree.flatten(Settings(rate=0.5, steps=5))[1]
    assert pytree.unflatten(structure, ["tracer"]).steps == 4


def test_attrs_classes_are_rebuilt_without_validators_and_converters() -> None:
    assert pytree.unflatten(pytree.flatten(Checked(2))[1], [3]).x == 3


def test_gradients_of_records_are_records() -> None:
    gradient = fd.grad(lambda m: m.w**2 * m.b + m._scale)(Dense(3.0, 2.0))
    assert gradient == Dense(12.0, 9.0, 1.0)
    settings = fd.grad(lambda s: s.rate**s.steps)(Settings(rate=2))
    assert settings == Settings(rate=12.0)
    derived = fd.grad(lambda m: m.w * m.layers[0] + m.b)(Derived(2.0, layers=[5.0]))
    assert derived == Derived(5.0, 1.0, layers=[2.0])
    assert fd.grad(lambda p: p.x * p.log)(Positive(x=1.0)).log == 1.0


def test_a_cached_property_is_computed_anew_and_differentiated() -> None:
    record = Cached(np.ones(2))
    assert record.total == 2.0
    np.testing.assert_array_equal(fd.grad(lambda c: c.total**2)(record).w, [4.0, 4.0])


def test_an_integer_field_is_refused_with_its_path() -> None:
    model = {"layers": [1.0, 2.0, Dense(np.arange(2))]}
    with pytest.raises(InputError, match=r"\['layers'\]\[2\]\.w is an array of dtype int64"):
        fd.grad(lambda m: 1.0)(model)


def test_an_attribute_beside_the_fields_is_refused_with_its_path_and_the_cure() -> None:
    record = Derived(1.0)
    record.scale = 2.0  # type: ignore[attr-defined]
    with pytest.raises(PytreeError, match=r"At tree\[0\]\.scale: .*would be lost.*`init=False`"):
        pytree.flatten([record])
    checked = Checked(2)
    checked.scale = 2.0  # type: ignore[attr-defined]
    with pytest.raises(PytreeError, match=r"At tree\.scale: "):
        pytree.flatten(checked)


def test_an_unset_field_of_an_attrs_class_is_refused_with_its_path() -> None:
    @attrs.define
    class Lazy:
        x: float
        later: float = attrs.field(init=False)

    with pytest.raises(PytreeError, match=r"At tree\.later: this field of Lazy has no value"):
        pytree.flatten(Lazy(1.0))


@pytest.mark.slow
def test_optional_packages_are_not_imported() -> None:
    code = "import sys, funcdiff; sys.exit(bool({'attr', 'attrs', 'dask'} & {*sys.modules}))"
    subprocess.run([sys.executable, "-c", code], check=True)
