"""Packages as they are installed are differentiated in a copy, and the original stays as it is."""

from __future__ import annotations

import copy as copy_module
import importlib
import math
import pickle
import shutil
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.adapting import copies
from funcdiff.adapting.decorators import lru_cache
from funcdiff.adapting.mathematics import MATH
from funcdiff.adapting.runtime import convert
from funcdiff.errors import FuncdiffError, InputError, LostDerivativeError
from tests.adapting.toy import COMPILED, FILES, LAZILY, NUMBA


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("packages")
    for name, text in FILES.items():
        file = folder / "toy" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (folder / "lazily.py").write_text(LAZILY)
    sys.path.insert(0, str(folder))
    try:
        yield __import__("toy")
    finally:
        sys.path.remove(str(folder))
        forget("toy")
        forget("lazily")


def forget(package: str) -> None:
    for modules in (sys.modules, copies._copies, copies._originals):
        for name in [n for n in modules if f".{package}." in f".{n}."]:
            del modules[name]
    copies._asked.discard(package)
    copies._is_numerical.cache_clear()


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "a decorated function": lambda toy, x: toy.area(x),
    "a property": lambda toy, x: toy.Shape(x).area,
    "a cached property": lambda toy, x: toy.Shape(x).root,
    "a class method, a buffer, a cache": lambda toy, x: toy.Shape.of_diameter(x).integral(),
    "a static method": lambda toy, x: toy.Shape.doubled([x, x]).sum(),
    "super": lambda toy, x: toy.Shape(x).scaled([x, 1.0]).sum(),
    "slots and a table": lambda toy, x: toy.shapes.Slotted(x)(0.7),
    "a generator and a default": lambda toy, x: sum(toy.shapes.later([x, x * x])),
    "a plain array changed": lambda toy, x: toy.shapes.numbers.halved(x),
    "types": lambda toy, x: toy.shapes.numbers.kinds(x),
    "conversions": lambda toy, x: toy.shapes.numbers.converted(x),
    "finite numbers": lambda toy, x: toy.shapes.numbers.finite(x),
    "steps": lambda toy, x: toy.shapes.numbers.steps(x),
    "joined": lambda toy, x: toy.shapes.numbers.joined(x),
    "a root": lambda toy, x: toy.shapes.numbers.root(x),
    "a polynomial": lambda toy, x: toy.shapes.numbers.polynomial(x),
    "the module math": lambda toy, x: toy.shapes.numbers.of_math(x),
    "vectorized": lambda toy, x: toy.shapes.numbers.vectorized(x, y=x),
    "imported by name": lambda toy, x: toy.shapes.numbers.by_name(x),
    "imported late": lambda toy, x: toy.late.deep_cube(x),
}
DISCRETE = {"finite numbers", "steps", "types"}
"""Cases of which examples decide what is computed."""


@pytest.mark.parametrize("name", CASES)
def test_the_slope_is_that_of_the_original(toy: Any, name: str) -> None:
    copy, case, x, h = fd.adapt("toy"), CASES[name], 1.6, 1e-5
    slope = (case(toy, x + h) - case(toy, x - h)) / (2 * h)
    np.testing.assert_allclose(fd.grad(lambda x: case(copy, x))(x), slope, 1e-8)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", CASES)
def test_what_it_computes_is_the_originals_and_has_derivatives(toy: Any, name: str) -> None:
    copy, case = fd.adapt("toy"), CASES[name]
    f: Any = lambda x: case(copy, x)
    slope_of: Any = fd.grad(f)
    for x in (1.6, 2.3):
        expected = case(toy, x)
        assert f(x) == expected
        assert type(f(x)) is type(expected)
        np.testing.assert_allclose(fd.value_and_grad(f)(x)[0], expected, 1e-14)
        h = 1e-5
        slope = (case(toy, x + h) - case(toy, x - h)) / (2 * h)
        curvature = (case(toy, x + h) - 2 * expected + case(toy, x - h)) / h**2
        np.testing.assert_allclose(fd.grad(f)(x), slope, 1e-8)
        np.testing.assert_allclose(fd.jvp(f, (x,), (1.0,))[1], slope, 1e-8)
        np.testing.assert_allclose(fd.grad(slope_of)(x), curvature, 1e-4, 1e-4)
        np.testing.assert_allclose(fd.jacfwd(slope_of)(x), curvature, 1e-4, 1e-4)
    derive, compiled = fd.grad(f), fd.jit(fd.grad(f))
    for k in range(9):
        x = 1.5 + 0.1 * k
        np.testing.assert_allclose(compiled(x), derive(x), 1e-12)
    if name not in DISCRETE:
        xs = np.array([1.6, 2.3])
        np.testing.assert_allclose(fd.vmap(fd.grad(f))(xs), [fd.grad(f)(x) for x in xs], 1e-12)


@pytest.mark.usefixtures("toy")
def test_a_module_that_takes_all_names_of_another_is_copied_itself() -> None:
    copy = fd.adapt("toy.everything")  # its __spec__ is that of toy, as in the original
    assert fd.grad(copy.own)(1.5) == 3.0
    assert copy.area is fd.adapt("toy").area


def test_the_original_and_the_copy_are_two(toy: Any) -> None:
    copy = fd.adapt("toy")
    assert copy is not toy
    assert copy is fd.adapt(toy)
    assert sys.modules["toy"] is toy
    assert toy.shapes.math is math
    assert toy.shapes.np is np
    assert toy.shapes.here is toy.shapes
    assert copy.shapes.here is copy.shapes
    assert copy.shapes.__file__ == toy.shapes.__file__
    with pytest.raises(FuncdiffError):
        fd.grad(toy.shapes.numbers.joined)(1.0)


def test_functions_classes_and_methods_have_copies(toy: Any) -> None:
    copy = fd.adapt("toy.shapes")
    assert fd.adapt(toy.area) is copy.area
    assert fd.adapt("toy.shapes.area") is copy.area
    assert fd.adapt(toy.Shape) is copy.Shape
    assert fd.adapt(toy.shapes.nodes) is copy.nodes
    assert fd.adapt(toy.Shape.of_diameter)(2.0).area == math.pi
    assert fd.adapt("toy.shapes.Shape.of_diameter")(2.0).area == math.pi
    assert fd.adapt(np.sin) is np.sin
    assert fd.grad(fd.adapt(math.sin))(0.0) == 1


def test_exceptions_and_enumerations_are_the_originals(toy: Any) -> None:
    copy = fd.adapt("toy")
    assert copy.Kind is toy.Kind
    assert copy.shapes.FrozenError is toy.shapes.FrozenError
    for f in (copy.area, fd.grad(copy.area), fd.jit(copy.area)):
        with pytest.raises(toy.ToyError, match="negative"):
            f(-1.0)


def test_warnings_name_the_lines_that_the_originals_do(toy: Any) -> None:
    def told(shapes: Any, derive: Callable[[Any], Any]) -> list[tuple[str, int]]:
        shapes.remembered.cache_clear()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            derive(lambda x: shapes.warned(x) + shapes.warned_within(x))(3.0)
        return [(w.filename, w.lineno) for w in found]

    wanted = told(toy.shapes, lambda f: f)
    assert len(wanted) == 4
    for derive in (lambda f: f, fd.grad, fd.jit):
        assert told(fd.adapt("toy.shapes"), derive) == wanted


def test_warnings_of_numpy_and_scipy_name_the_lines_that_they_do_for_the_original(toy: Any) -> None:
    def told(shapes: Any) -> list[tuple[str, int, str]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            shapes.told_by_numpy(2.0)
        return [(w.filename, w.lineno, str(w.message)) for w in found]

    wanted = told(toy.shapes)
    assert len(wanted) == 6
    assert told(fd.adapt("toy.shapes")) == wanted


BY_NAME = (
    "a property",
    "super",
    "conversions",
    "types",
    "steps",
    "joined",
    "a root",
    "the module math",
)
"""Cases that call functions of NumPy, SciPy and `math` by their names."""


@pytest.mark.parametrize("name", BY_NAME)
def test_plain_values_meet_nothing_of_ours(toy: Any, name: str) -> None:
    copy, case = fd.adapt("toy"), CASES[name]
    case(copy, 1.6)  # what is found once is kept
    met: set[str] = set()

    def note(frame: FrameType, event: str, _given: Any) -> None:
        if event == "call" and "funcdiff" in frame.f_code.co_filename:
            met.add(f"{frame.f_code.co_filename} {frame.f_code.co_name}")

    sys.setprofile(note)
    try:
        case(copy, 1.6)
    finally:
        sys.setprofile(None)
    assert not met


def test_what_is_put_in_the_place_of_a_name_is_called_by_plain_values_too(
    toy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = fd.adapt("toy.shapes")
    monkeypatch.setattr(copy.numbers, "brentq", lambda _f, _low, _high: 7.0)
    assert copy.numbers.root(1.5) == 7.0 != toy.shapes.numbers.root(1.5)
    assert fd.value_and_grad(copy.numbers.root)(1.5)[0] == 7.0


def test_errors_name_the_line_of_the_package(toy: Any) -> None:
    copy = fd.adapt("toy")
    with pytest.raises(FuncdiffError) as error:
        fd.grad(copy.shapes.numbers.shared)(2.0)
    text = FILES["numbers_of.py"].splitlines()
    line = text.index("    counts *= x") + 1
    assert f"numbers_of.py', line {line}, in shared" in str(error.value)
    assert copy.shapes.numbers.shared(2.0) == toy.shapes.numbers.shared(2.0) == 14


def test_what_is_cached_is_never_traced(toy: Any) -> None:
    copy = fd.adapt("toy.shapes")
    copy.nodes.cache_clear()
    assert fd.grad(lambda x: copy.nodes(3).sum() * x)(1.0) == 1.5
    assert type(copy.nodes(3)) is np.ndarray
    assert copy.nodes(3) is copy.nodes(3)
    counted = lru_cache(lambda x: [x, x])
    for derive in (fd.grad(lambda x: counted(x)[1] * 2), fd.grad(lambda x: counted(2.0)[0] * x)):
        assert [float(derive(3.0)) for _ in range(3)] == [2.0] * 3
    assert counted(2.0) is counted(2.0)
    kept: list[Any] = []
    made = lru_cache(maxsize=None)(lambda: kept[0] * 2)

    def f(x: Any) -> Any:
        kept[:] = [x]
        return made() * x

    assert [float(fd.grad(f)(x)) for x in (1.0, 2.0)] == [4.0, 8.0]
    kept[:] = [5.0]
    assert made() == 10


def test_functions_of_a_script_call_copies(toy: Any) -> None:
    scale = 1.0

    def inner(r: Any) -> Any:
        return float(toy.area(r)) * scale

    def f(r: Any) -> Any:
        return inner(r) + toy.shapes.numbers.kinds(r)

    derive = fd.grad(fd.adapt(f))
    for k in range(12):
        scale = float(k)
        np.testing.assert_allclose(derive(2.0), 4 * math.pi * k + 3)
    np.testing.assert_allclose(fd.grad(fd.adapt(lambda r: toy.Shape(r).area))(1.0), 2 * math.pi)
    assert fd.adapt(f) is fd.adapt(f)


def test_global_names_are_those_of_the_moment(toy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"toy": toy, "scale": 1.0, "__name__": "somewhere"}
    exec("def f(r):\n    return toy.area(r) * scale", names)
    derive = fd.grad(fd.adapt(names["f"]))
    for k in range(12):
        names["scale"] = float(k)
        np.testing.assert_allclose(derive(1.0), 2 * math.pi * k)
    exec("def g(r):\n    global scale\n    scale = r", names)
    exec("def h(r):\n    def inner():\n        global scale\n        scale = r", names)
    for name in ("g", "h"):
        with pytest.raises(InputError, match="assigns global names"):
            fd.adapt(names[name])


def test_functions_that_call_each_other_are_adapted_once(toy: Any) -> None:
    def even(n: int, x: Any) -> Any:
        return x if n == 0 else odd(n - 1, toy.area(x))

    def odd(n: int, x: Any) -> Any:
        return even(n - 1, float(x) * 0.1)

    def product(n: int, x: Any) -> Any:
        return 1.0 if n == 0 else float(x) * product(n - 1, x)

    ours = fd.adapt(even)
    assert ours(2, 0.7) == even(2, 0.7)
    np.testing.assert_allclose(fd.grad(lambda x: ours(2, x))(0.7), 0.2 * math.pi * 0.7)
    np.testing.assert_allclose(fd.grad(lambda x: fd.adapt(product)(3, x))(0.7), 3 * 0.7**2)


def test_defaults_are_adapted(toy: Any) -> None:
    def f(x: Any, g: Any = toy.area, *, h: Any = toy.shapes.numbers.kinds) -> Any:
        return g(x) + h(x)

    np.testing.assert_allclose(fd.grad(fd.adapt(f))(1.0), 2 * math.pi + 3)


def test_an_object_and_its_method_are_adapted_as_a_copy(toy: Any) -> None:
    shape = toy.Shape(1.5, others=[toy.shapes.Slotted(2.0), np.ones(2), toy.area])
    copied = fd.adapt(shape)
    assert type(copied) is fd.adapt(toy).Shape
    assert copied.integral() == shape.integral()
    slotted, ones, area = copied.others
    assert fd.grad(area)(1.0) == 2 * math.pi
    slope = 2 * math.cos(2 * 0.7)
    np.testing.assert_allclose(fd.grad(slotted)(0.7), slope, 1e-14)
    np.testing.assert_allclose(fd.grad(fd.adapt(shape.others[0].__call__))(0.7), slope, 1e-14)
    ones[0] = 5.0
    assert shape.others[1][0] == 1.0
    shape.others.append(lambda x: x)
    with pytest.raises(InputError, match=r"which pickle cannot copy: .* Adapt the class"):
        fd.adapt(shape.scaled)


@pytest.mark.parametrize("bad", [3, np.ones(2), [1.0], np.ones(2).sum])
def test_what_is_no_python_code_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="is no function, class"):
        fd.adapt(bad)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("no_such_package", "No module named 'no_such_package'"),
        ("toy.lacking", "toy has no 'lacking'"),
        ("toy.shapes.Shap", "toy.shapes has no 'Shap', at .*Did you mean 'Shape'"),
        ("toy.shapes.Shape.lacking", "toy.shapes has no 'lacking'"),
    ],
)
@pytest.mark.usefixtures("toy")
def test_what_is_not_there_is_named(name: str, text: str) -> None:
    with pytest.raises(ModuleNotFoundError, match=text):
        fd.adapt(name)


def test_threads_copy_a_package_once(toy: Any) -> None:
    for name in [name for name in copies._copies if name.startswith("toy")]:
        del copies._copies[name]
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(fd.adapt("toy.shapes").numbers))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(module) for module in found}) == 1


def test_what_a_copy_sets_of_pythons_modules_is_set() -> None:
    out: Any = sys.stdout
    names: dict[str, Any] = {"__builtins__": copies.BUILTINS}
    exec("import io, sys\nsys.stdout = io.StringIO()\nprint('x')\nfound = sys.stdout", names)
    try:
        shown: Any = sys.stdout
        assert shown is names["found"]
        assert shown.getvalue() == "x\n"
    finally:
        sys.stdout = out
    assert names["sys"].stdout is out


@pytest.mark.parametrize("name", ["floor", "ceil", "trunc"])
def test_integers_of_what_has_none_raise(name: str) -> None:
    ours, theirs = getattr(MATH, name), getattr(math, name)
    for f in (ours, lambda x: convert(int, x)):
        compiled = fd.jit(lambda x, f=f: f(x) * 1.0)
        for x in (2.5, math.inf, math.nan, -math.inf, -3.5):
            expected = _outcome(theirs if f is ours else int, x)
            assert _outcome(compiled, x) == expected
            assert (
                _outcome(lambda x, f=f: fd.value_and_grad(lambda x: f(x) * x)(x)[1], x) == expected
            )
    with pytest.raises(OverflowError, match="63 bits"):
        fd.grad(lambda x: x * ours(x))(1e30)


def test_numbers_are_not_read_from_texts_of_traced_ones() -> None:
    f: Any = fd.adapt(lambda x: convert(float, f" {x:.18f}") * convert(float, "2.0"))
    assert f(1.5) == 3.0
    with pytest.raises(LostDerivativeError, match="the text of a traced number, was read"):
        fd.grad(f)(1.5)
    with pytest.raises(ValueError, match="could not convert"):
        convert(float, "~1.5")


def test_a_script_adapts_the_functions_that_its_own_call(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "import math\ndef helper(x):\n    return math.sin(x) * x\ndef f(x):\n    return helper(x)\n"
    )
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(text, names)
    monkeypatch.setitem(sys.modules, "__main__", ModuleType("__main__"))
    vars(sys.modules["__main__"]).update(names)
    np.testing.assert_allclose(
        fd.grad(fd.adapt(names["f"]))(0.5), math.sin(0.5) + 0.5 * math.cos(0.5)
    )


def test_powers_of_two_and_sums_overflow_as_in_python() -> None:
    def scaled(x: Any) -> Any:
        return MATH.ldexp(x, 1000)

    def added(x: Any) -> Any:
        return MATH.fsum([x, 1.0])

    for f, plain in ((scaled, lambda x: math.ldexp(x, 1000)), (added, lambda x: math.fsum([x, 1]))):
        compiled = fd.jit(f)
        for x in (2.0, 1e200, math.inf, -math.inf, 0.0, -3.0):
            expected = _outcome(plain, x)
            assert _outcome(compiled, x) == expected
            assert _outcome(lambda x, f=f: fd.value_and_grad(f)(x)[0], x) == expected


def test_an_exact_sum_has_pythons_digits() -> None:
    numbers = [1e16, 1.3, -1e16, 0.1, 1e-20]
    f: Any = lambda x: MATH.fsum([x * y for y in numbers])

    with_gradient, compiled = fd.value_and_grad(f), fd.jit(f)
    for found in (with_gradient(1.0)[0], compiled(1.0)):
        np.testing.assert_allclose(found, math.fsum(numbers), 1e-15)
    derive: Any = fd.grad(MATH.fsum)
    gradient = derive(np.array(numbers))
    np.testing.assert_array_equal(gradient, np.ones(5))


def _outcome(f: Callable[..., Any], *xs: Any) -> Any:
    try:
        return f(*xs)
    except (ValueError, OverflowError) as error:
        return type(error)


OF_MATH = [
    *["acos", "asinh", "atanh", "cbrt", "cosh", "exp", "expm1", "gamma", "lgamma"],
    *["log", "log10", "log1p", "sin", "sqrt", "tan"],
]


@pytest.mark.parametrize("name", OF_MATH)
def test_functions_of_math_raise_what_they_raise(name: str) -> None:
    ours, theirs = getattr(MATH, name), getattr(math, name)
    compiled = fd.jit(ours)
    for x in (0.5, 0.0, -1.0, 2.0, 800.0, math.inf, -math.inf, math.nan, 0.7):
        expected = _outcome(theirs, x)
        for f in (ours, compiled, lambda x: fd.value_and_grad(ours)(x)[0]):
            found = _outcome(f, x)
            if isinstance(expected, type):
                assert found is expected
            else:
                np.testing.assert_allclose(found, expected, 1e-14)


def test_results_of_math_give_way_to_single_precision() -> None:
    g = fd.grad(lambda x: (MATH.sqrt(x[0].item()) * x).sum())(np.ones(2, np.float32))
    assert g.dtype == np.float32
    value = fd.jvp(lambda x: MATH.sqrt(2.0) * x, (np.float32(1),), (np.float32(1),))[0]
    assert value.dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("place", [0, 1])
def test_a_script_runs_in_copies(place: int, toy: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport math\nimport funcdiff as fd\nimport toy\n"
        "def helper(r):\n    return float(r) + math.sin(r)\n"
        "def f(r):\n    return toy.area(r) + helper(r)\n"
        "if __name__ == '__main__':\n    print(fd.grad(f)(0.0), sys.argv[1:])\n"
    )
    folder = str(Path(toy.__file__).parent.parent)
    arguments = [str(script), "a", "--b"]
    arguments[place:place] = ["--adapt", "toy"]
    done = subprocess.run(
        [sys.executable, "-m", "funcdiff", *arguments],
        capture_output=True, text=True, check=False,
        env={"PYTHONPATH": f"{folder}:{':'.join(p for p in sys.path if p)}", "PATH": ""},
    )  # fmt: skip
    assert done.stdout == "2.0 ['a', '--b']\n", done.stderr


def test_a_copy_runs_as_a_script_as_pools_start_processes(tmp_path: Path) -> None:
    (tmp_path / "started.py").write_text("import sys\nprint(__name__, sys.argv[1:])\n")
    done = subprocess.run(
        [sys.executable, "-m", "funcdiff.adapting.packages.started", "a"],
        capture_output=True, text=True, check=False,
        env={"PYTHONPATH": f"{tmp_path}:{':'.join(p for p in sys.path if p)}", "PATH": ""},
    )  # fmt: skip
    assert done.stdout == "__main__ ['a']\n", done.stderr


ALONE = """
import sys
sys.modules["scipy"] = sys.modules["scipy.special"] = None
import funcdiff as fd
polynomial = fd.adapt("numpy.polynomial")
print(fd.grad(lambda a: polynomial.Polynomial([a, 0.0, a])(2.0))(1.0))
"""


@pytest.mark.slow
def test_without_scipy_code_that_needs_only_numpy_is_adapted() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout == "5.0\n"


UNPICKLED = """
import pickle, sys
import funcdiff as fd
shape, slotted, area, derive, method, module = pickle.load(sys.stdin.buffer)
copy = fd.adapt("toy")
assert type(shape) is copy.Shape and type(slotted) is copy.shapes.Slotted
assert area is copy.area and module is copy.shapes and "toy.shapes" in sys.modules
print(derive(0.5), fd.grad(method)(0.5), fd.grad(lambda x: type(shape)(x).area)(0.5), shape)
"""


@pytest.mark.slow
def test_what_a_copy_has_is_pickled_and_is_adapted_in_another_process(toy: Any) -> None:
    copy = fd.adapt("toy")
    shape, slotted = (
        copy.Shape(1.5, others=[copy.shapes.later, np.ones(2)]),
        copy.shapes.Slotted(2.0),
    )
    others = (copy.area, fd.grad(copy.area), slotted.__call__, copy.shapes)
    text = pickle.dumps((shape, slotted, *others))
    folder = str(Path(toy.__file__).parent.parent)
    done = subprocess.run(
        [sys.executable, "-c", UNPICKLED], input=text, capture_output=True, check=False,
        env={"PYTHONPATH": f"{folder}:{':'.join(p for p in sys.path if p)}", "PATH": ""},
    )  # fmt: skip
    slopes = f"{math.pi} {2 * math.cos(1.0)} {math.pi}"
    assert done.stdout.decode().startswith(f"{slopes} Shape(r=1.5, kind="), done.stderr.decode()
    assert pickle.loads(pickle.dumps(fd.adapt(toy.area))) is fd.adapt(toy.area)
    assert pickle.loads(pickle.dumps(toy.area)) is toy.area
    for kind in (copy.Shape, copy.shapes.Slotted, copy.Shape.Corner, copy.Shape.scaled, toy.Shape):
        assert pickle.loads(pickle.dumps(kind)) is kind
        assert sys.modules[kind.__module__] is (toy.shapes if kind is toy.Shape else copy.shapes)
    assert copy.Kind.__module__ == copy.shapes.FrozenError.__module__ == "toy.shapes"


def test_objects_of_copies_are_copied_as_others_are(toy: Any) -> None:
    shape = fd.adapt(toy.Shape)(1.5, others=[[1.0]])
    shallow, deep = copy_module.copy(shape), copy_module.deepcopy(shape)
    assert type(shallow) is type(deep) is type(shape)
    assert shallow.others is shape.others
    assert deep == shape
    assert deep.others[0] is not shape.others[0]


def test_what_is_adapted_already_stays_as_it_is(toy: Any) -> None:
    copy = fd.adapt(toy)
    for same in (copy, copy.area, copy.Shape, copy.Shape(1.0), copy.shapes.numbers):
        assert fd.adapt(same) is same
    method = copy.Shape(1.0).integral
    assert fd.adapt(method) == method


PLACES: dict[str, dict[str, str]] = {
    "a zip file": {
        "placed/__init__.py": "from placed.within import cube",
        "placed/within.py": "import math\ndef cube(x): return math.pow(float(x), 3)",
    },
    "a module in a zip file": {"placed.py": "import math\ndef cube(x): return math.pow(x, 3)"},
    "two folders": {
        "one/placed/within.py": "import math\ndef cube(x): return math.pow(float(x), 3)",
        "two/placed/other.py": "from placed.within import cube",
    },
}


@pytest.mark.parametrize("kind", PLACES)
def test_a_package_is_adapted_wherever_it_is(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in PLACES[kind].items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]
    if "zip" in kind:
        folders = [shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path)]
    monkeypatch.setattr(sys, "path", [*folders, *sys.path])
    name = "placed.other" if kind == "two folders" else "placed"
    try:
        placed = importlib.import_module(name)
        f: Any = lambda x: placed.cube(x)
        assert fd.grad(fd.adapt(f))(2.0) == 12.0  # found to be numerical, without being asked for
        assert fd.grad(fd.adapt(name).cube)(1.0) == 3.0
    finally:
        forget("placed")


def test_a_module_that_is_loaded_again_is_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "edited"
    package.mkdir()
    for power in (2, 3, 4):
        text = f"import math\ndef f(x): return math.pow(x, {power})"
        (package / "within.py").write_text(text + " " * power)  # of another size
        (package / "__init__.py").write_text("from edited.within import f")
        if power == 3:
            importlib.reload(sys.modules["edited.within"])
            importlib.reload(sys.modules["edited"])
        elif power == 4:
            for name in ("edited", "edited.within"):
                del sys.modules[name]
        original = importlib.import_module("edited")
        copy = fd.adapt("edited")
        for f in (copy.f, fd.adapt(original.f), fd.adapt(partial(original.f))):
            assert fd.grad(f)(1.0) == power
        assert fd.adapt("edited").f is copy.f
    forget("edited")


def test_functions_that_numba_compiles_are_pythons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numba.py").write_text(NUMBA)
    (tmp_path / "compiled_toy.py").write_text(COMPILED)
    for name in ("numba", "compiled_toy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        copy, plain = fd.adapt("compiled_toy"), __import__("compiled_toy")
        copies._substitute.cache_clear()
        for module in (plain, copy):
            assert module.twice(2.0) == 14
            assert module.cut(2.0) == 2
            np.testing.assert_array_equal(module.cut(np.array([-1.0, 2.0])), [0, 2])
            assert module.sum_of_squares(np.array([-1.0, 2.0])) == 5
        copy.set_unit(3.0)
        assert plain.twice(2.0) == 14
        assert copy.twice(2.0) == 42
        assert fd.grad(copy.twice)(2.0) == 30
        assert fd.jit(fd.grad(copy.cut))(2.0) == 3
        np.testing.assert_array_equal(
            fd.jacobian(copy.cut)(np.array([-1.0, 2.0])), [[0, 0], [0, 3]]
        )
    finally:
        copies._substitute.cache_clear()
        for modules in (sys.modules, copies._copies):
            for name in ("numba", "compiled_toy"):
                modules.pop(name, None)
