"""Rewritten code does what it did, in the order in which it did it; plain arrays become traced."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.adapting import rewriting
from funcdiff.adapting.bytecode import rewritten_module
from funcdiff.adapting.copies import BUILTINS, module_for
from funcdiff.adapting.rewriting import rewrite
from funcdiff.errors import FuncdiffError

TEXT = """
import numpy as np
from math import cosh, sqrt
TABLE = {}
COUNTS = np.zeros(2)

def an_imported_name_within(x):
    def inner(sqrt):
        return [sqrt(float(v)) for v in (x, 2 * x)]
    cosh = lambda v: np.cosh(v)
    return sum(inner(lambda v: v * 3.0)) + sqrt(x) + cosh(x)

def a_generator(x):
    '''It goes on where it was.'''
    def elements(x):
        '''Only text, and what it yields.'''
        yield from np.asarray(x).ravel()
    steps = (float(v) for v in (x, 2 * x))
    yielded = elements(np.asarray([x, sqrt(x)], dtype=float))
    return sum(a * b for a, b in zip(steps, yielded))

def a_global_table(x):
    TABLE["a"] = x
    TABLE["a"] += 1
    return TABLE["a"]

def the_order_of_an_item(x):
    a = [1, 2, x]
    a[len(a) - 1] = a.pop()
    return a[0] * a[1]

def the_order_of_a_change(x):
    d = {"k": x}
    def f():
        d["k"] = 100
        return 5
    d["k"] += f()
    return d["k"]

def an_index_once(x):
    steps = iter([0, 1, 2])
    y = [x, 2 * x, 3 * x]
    y[next(steps)] += 1
    return y[0] * y[1] * next(steps)

def items(x):
    y = np.array([1.0, 2.0, 3.0]).copy()
    y[0] = x
    y[1:] *= x
    y[::2, ...] += x
    z = np.arange(3) * 1.0
    z += x
    z[[0, 2]] -= x * x
    return y.sum() + (z * z).sum()

def a_loop(x):
    total = 0.0
    for k in range(3):
        y = np.array([1.0, 2.0, 3.0]).copy()
        y[k] += x
        y **= 2
        total += y[k]
    return total

def a_nested_one(x):
    y = np.ones(3) * 2
    g = lambda: y
    y[0] = x
    y @= np.eye(3)
    return g().sum()

def integers(x):
    n = np.array([1, 2, 3])
    n[1] = x
    return n.sum() * x

def several_targets(x):
    y = z = np.ones(2) * 1.0
    y[0] = z[1] = x * 0 + 1
    return y.sum() * x

def clipped(x):
    return np.array([1.0, 2.0]).clip(0.0, x).sum() + np.array([1.0, 2.0]).dot(np.array([x, 1.0]))

def lists_of_numbers(x):
    largest = np.argmax(np.abs([x, -x * x])) + np.maximum.reduce((x, x * x))
    y = np.hypot([v * x for v in (1.0, 2.0)], [x, 3.0]) + np.multiply.outer([x], (x, 1.0))[0]
    return y.prod() * largest + abs([x, -2.0][0]) + np.add.accumulate([x, x, 1.0])[1]

def broadcasts(x):
    b = np.broadcast(np.array([x, x]), np.ones((2, 1)))
    return sum(p * q for p, q in b) * b.size * b.shape[1] * b.ndim * b.numiter

class Of:
    make = np.array
    def total(self, x):
        return self.make([x, x]).sum() + self.make((x, 2 * x)).sum()

def an_attribute(x):
    return Of().total(x)

def a_rebinding(x):
    y = [x, 2 * x]
    first = y
    def other():
        nonlocal y
        y = [0.0, 0.0]
        return 5.0
    y[0] = other()
    y[1] += 3.0
    return first[0] * x + y[1]

def a_walrus(x):
    y = [x, 2 * x]
    first = y
    y[0] = len(y := [7.0, 8.0]) * x
    return first[0] * y[0]

def a_class_body(x):
    y = [x, 2 * x]
    class Inner:
        z = [0.0, 0.0]
        y[0] = 3.0 * x
        z[1] = x
    return y[0] * Inner.z[1] * (not hasattr(Inner, "y"))

def the_locals(x):
    y = [x]
    y[0] += 1.0
    return y[0] * len(locals())

def a_change_before(x):
    y = np.array([1.0, 2.0]).copy()
    def write():
        y[0] = 10.0
        return x
    y[0] += write()
    return y.sum()

def a_loop_of_elements(x):
    kinds = []
    def f(n, y, scale=1.0):
        kinds.append(type(n))
        return y * scale if n > 1 else 0.5
    loop = np.vectorize(f, otypes=[float])
    either = np.vectorize(f, excluded=["scale"], otypes="d")
    y = loop(np.array([1, 2, 3]), x) + either(np.array([1, 2, 3]), x, scale=2.0)
    return y.sum() * (kinds == [int] * len(kinds))

def a_loop_with_text(x):
    scaled = np.vectorize(lambda a, how: 2.0 * a if how == "twice" else a)
    return scaled(np.array([x, 3.0 * x]), np.array(["twice", "once"])).sum() + scaled(x, "twice")

def several_loops(x):
    found = np.vectorize(lambda a: (a, 2 * a), otypes="dd")
    one, two = found(np.array([x, 1.0]))
    none = found(np.zeros(0))
    return one.sum() + two[0] * len(none)

def loops_of_parts(x):
    dot = np.vectorize(lambda r, s: (np.dot(r, s), r * s[0]), signature="(n),(n)->(),(n)")
    y = np.array([[x, 2.0, x * x], [1.0, x, 3.0]])
    total, rows = dot(y, np.array([1.0, 2.0, x]))
    scaled = np.vectorize(lambda r, by: r * by, signature="(n)->(n)", excluded=["by"])(y, by=x)
    none = np.vectorize(np.dot, signature="(n),(n)->()", otypes="d")(y[:0], y[:0])
    errors = []
    for text in ("(n)->()", "(n)->(n),()", "(m,n)->(n),(n)", "(n),(n)->(n)"):
        try:
            np.vectorize(lambda r: r, signature=text)(y)
        except Exception as error:
            errors.append(f"{type(error).__name__} {error}")
    seen = sum(map(len, errors)) + len(none)
    return total.sum() * rows[1, 2] + rows.size + scaled.sum() + seen

def loops_of_objects(x):
    power = np.frompyfunc(lambda a, b: (a**b, b * 2), 2, 2)
    y, twice = power(np.array([x, 2.0]), np.array([[1], [3]]))
    none = power(np.zeros(0) * x, np.zeros(0))
    return (y.astype(float).sum() + twice.sum()) * power.nin + len(none) + none[0].size

def a_complex_number_of_parts(x):
    z = complex(x, 2.0) * complex(1.0, x) + complex(3.0, 4.0) + complex(x, x + 1j)
    far = complex(x, float("inf"))
    return abs(z) + z.real + far.real * (far.imag == float("inf"))

def several_rows(x):
    b = np.broadcast(np.array([x, x]), np.ones((2, 1)))
    first = next(b)
    rest = [p * q for p, q in b]
    return first[0] * len(rest) * (b.index == 4) * (len(list(b)) == 0)

def another_name(x):
    y = np.array([1.0, 1.0]).copy()
    z = y
    y[0] = x
    return z.sum()

def a_view(x):
    y = np.array([1.0, 1.0, 1.0]).copy()
    z = y[:2]
    y[0] = x
    return z.sum()

def in_a_list(x):
    y = np.array([1.0, 1.0, 1.0]).copy()
    kept = [y]
    y += x
    return kept[0].sum()

def in_a_closure(x):
    y = np.array([1.0, 1.0, 1.0]).copy()
    def write():
        y[0] = x
    write()
    return y.sum()

def changed(y, x):
    y[0] = x
    return y

def what_a_view_looks_into(x):
    y = np.array([1.0, 1.0, 1.0]).copy()
    z = y[:2]
    z[0] = x
    return y.sum()

def an_item_as_it_was_before(x):
    y = np.array([1.0, 2.0]).copy()
    def f():
        y[0] = 5.0
        return x
    y[0] *= f()
    return y.sum()

def the_array_of_an_array(x):
    return (np.asarray(x).__array__() * np.sin(x)).sum()

def a_long_loop(x):
    y, s = np.linspace(0.0, 1.0, 3), float(x)
    for k in range(90):
        s = s + 0.01 * np.sin(s) * (k % 3)
        y[k % 3] += s
        y *= 0.99
    return y.sum() + s

def what_a_module_within_hands_on(x):
    from scipy.special._ufuncs import gammaln
    from scipy.stats.distributions import norm, rv_frozen
    return norm.pdf(x) * gammaln(x) * isinstance(norm(), rv_frozen)

def what_nobody_else_looks_into(x):
    y = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    y[0, 1] = x
    t = np.linspace(0.0, 1.0, 4)
    t *= x
    rows = np.tile(np.array([1.0, 2.0]), (2, 1)).T
    rows[0] += x * rows[1]
    ring = np.roll(np.arange(3.0), 1)[1:]
    ring[0] -= x * x
    ring[::-1] *= x
    return y.sum() * t[2] + rows.sum() * ring[0] - ring[1]

def two_views(x):
    y = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    z = y.T
    y[0, 1] = x
    return z.sum()

def a_view_of_a_row(x):
    y = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    z = y[0]
    z += x
    return y.sum()

def a_view_that_is_kept(x):
    y = np.linspace(0.0, 1.0, 6).reshape(2, 3)
    z = y[1]
    y[0] *= x
    y[1] += x
    return z.sum()

def a_constant(x):
    y = np.array([1.0, 1.0]).copy()
    y.flags.writeable = False
    y[0] = x
    return y.sum()

def an_argument(x):
    y = np.array([1.0, 1.0, 1.0]).copy()
    changed(y, x)
    return y.sum()

def an_array_of_the_module(x):
    COUNTS[0] = x
    return COUNTS.sum()
"""
REFUSED = [
    "another_name", "a_view", "two_views", "a_view_of_a_row", "a_view_that_is_kept",
    "what_a_view_looks_into", "in_a_list", "in_a_closure", "an_argument",
    "an_array_of_the_module", "integers", "a_constant",
]  # fmt: skip
"""Others would see the change, or NumPy would cut off what varies."""


def _module(code: Any, **names: Any) -> dict[str, Any]:
    exec(code, names)
    return names


PLAIN = _module(TEXT, __name__="plain")
CHANGED = _module(rewrite(TEXT, __file__), __name__="changed", __builtins__=BUILTINS)
NAMES = [
    name for name, value in PLAIN.items() if type(value) is type(_module) and name != "changed"
]


@pytest.mark.parametrize("name", NAMES)
def test_plain_values_are_the_same(name: str) -> None:
    if name == "a_constant":
        for module in (PLAIN, CHANGED):
            with pytest.raises(ValueError, match="read-only"):
                module[name](2.5)
        return
    assert CHANGED[name](2.5) == PLAIN[name](2.5)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REFUSED])
def test_derivatives_are_right(name: str) -> None:
    f, plain = CHANGED[name], PLAIN[name]
    derive, compiled = fd.grad(f), fd.jit(fd.grad(f))
    for k in range(9):
        x = 2.3 + 0.05 * k
        slope = (plain(x + 1e-6) - plain(x - 1e-6)) / 2e-6
        for g in (derive, compiled, fd.jacfwd(f)):
            np.testing.assert_allclose(g(x), slope, 1e-7, 1e-8)


@pytest.mark.parametrize("name", REFUSED)
def test_an_array_that_others_see_is_not_replaced(name: str) -> None:
    with pytest.raises(ValueError if name == "a_constant" else FuncdiffError):
        fd.grad(CHANGED[name])(2.0)


def test_names_of_other_scopes_stay_theirs() -> None:
    text = (
        "def f(x):\n"
        "    global table\n"
        "    table = {}\n"
        "    table['k'] = x\n"
        "    def g():\n"
        "        nonlocal x\n"
        "        x += 1\n"
        "        return x\n"
        "    return g() + g() + x\n"
    )
    f: Callable[[Any], Any] = _module(rewrite(text, "f"), __builtins__=BUILTINS)["f"]
    assert f(1.0) == 8
    assert fd.grad(f)(1.0) == 3


def test_objects_that_give_a_number_give_a_traced_one() -> None:
    text = (
        "class Length:\n"
        "    def __init__(self, metres): self.metres = metres\n"
        "    def __float__(self): return float(self.metres) * 2.0\n"
        "def f(x):\n"
        "    return float(Length(x)) ** 2 + float(Length(3))\n"
    )
    f: Callable[[Any], Any] = _module(rewrite(text, "f"), __name__="f", __builtins__=BUILTINS)["f"]
    assert f(1.5) == 15
    assert fd.value_and_grad(f)(1.5) == (15, 12)
    assert fd.jit(fd.grad(f))(1.5) == 12


def test_rewritten_bytecode_is_kept_for_one_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "module.py"

    def value(text: str) -> Any:
        names = {"__builtins__": BUILTINS}
        exec(rewritten_module(str(file), text.encode()), names)
        return names["x"]

    assert value("x = float(1)") == 1
    (kept,) = (tmp_path / "__pycache__").iterdir()
    content = kept.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(rewriting, "rewrite", lambda *_args: pytest.fail("rewritten again"))
        assert value("x = float(1)") == 1
    assert value("x = float(2)") == 2
    assert kept.read_bytes() != content
    for broken in (b"", content[:30], content[:-5]):
        kept.write_bytes(broken)
        assert value("x = float(1)") == 1
        assert kept.read_bytes() == content


def test_where_nothing_can_be_written_a_module_is_rewritten_each_time(tmp_path: Path) -> None:
    file = tmp_path / "no_such_folder" / "module.py"
    code = rewritten_module(str(file), b"x = 1")
    assert code.co_filename == str(file)
    assert not file.parent.exists()


def test_modules_give_all_names_and_functions_that_are_no_methods() -> None:
    text = (
        "from math import *\n"
        "import math, cmath\n"
        "class A:\n"
        "    sine = math.sin\n"
        "    def at(self, x):\n"
        "        return self.sine(x) * vars(math)['pi']\n"
        "def f(x):\n"
        "    turned = abs(cmath.exp(1j * x))\n"
        "    return A().at(x) * factorial(3) + turned + sum(map(int, ['11'], [2]))\n"
    )
    f: Callable[[Any], Any] = _module(rewrite(text, "f"), __builtins__=BUILTINS)["f"]
    assert f(0.5) == np.sin(0.5) * np.pi * 6 + 4
    np.testing.assert_allclose(fd.grad(f)(0.5), np.cos(0.5) * np.pi * 6)
    found = vars(module_for("numpy"))
    assert found.keys() == vars(np).keys()
    assert found["nanmean"] is module_for("numpy").nanmean
    assert found["nanmean"] is not np.nanmean


MADE = (
    "np.linspace(0.5, 1.5, 4)", "np.tile(np.array([1.0, 2.0]), 2)", "np.roll({u}, 1)", "{u}.copy()",
    "{u}", "{u}[::-1]", "{u}[:]", "{u}.reshape(2, 2).T.reshape(4)", "{u}.reshape(2, 2).reshape(4)",
)  # fmt: skip
WRITTEN = (
    "{u} *= x", "{u} += x * {v}", "{u}[1] = x", "{u}[1:3] += x", "{u}[0] *= {v}[2] * x",
    "{u}[:] = {v} * x", "kept.append({u})", "{u}[{u} > 0.7] -= x", "{u} = np.sin(1.0 * {u})",
    "{u} = {v} + 0.0",
)  # fmt: skip


def random_changes(seed: str) -> str:
    """Return a function that makes plain arrays and views of them, and writes to some."""
    rng = random.Random(seed)
    lines = ["a = np.linspace(0.1, 1.0, 4)", "b, c, kept = a, a, []"]
    for _ in range(rng.randint(3, 7)):
        u, v = rng.choice("abc"), rng.choice("abc")
        made = rng.random() < 0.5
        text = rng.choice("abc") + " = " + rng.choice(MADE) if made else rng.choice(WRITTEN)
        lines.append(text.format(u=u, v=v))
    lines.append("return np.sum(a * b) + np.sum(np.cos(c)) + sum(np.sum(k * k) for k in kept)")
    return "import numpy as np\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("part", range(2))
def test_changes_of_arrays_that_look_into_each_other_are_right_or_refused(part: int) -> None:
    right = 0
    for k in range(40):
        text = random_changes(f"{part} {k}")
        plain = _module(text)["f"]
        f = _module(rewrite(text, "changes"), __builtins__=BUILTINS)["f"]
        try:
            found = fd.grad(f)(1.3)
        except FuncdiffError:
            continue
        right += 1
        slope = (plain(1.3 + 1e-6) - plain(1.3 - 1e-6)) / 2e-6
        np.testing.assert_allclose(found, slope, 1e-6, 1e-6, err_msg=text)
    assert right > 4


WITHIN = """
import math
import numpy as np
count = 0

def imports(x):
    from math import exp, log as ln
    import numpy
    import scipy.special as special
    from scipy.special import gammaln
    inner = lambda y: exp(y) + numpy.sin(y)
    return inner(x) + ln(x) + gammaln(x) + special.erf(x) + SEEN(ln)

def of_its_own_name(x):
    def sqrt(*args):
        from math import sqrt
        return sqrt(*args)
    return sqrt(x)

def sqrt(x):
    from math import sqrt
    return sqrt(x)

def bound_otherwise(x):
    try:
        from math import exp
    except ImportError:
        exp = None
    def cosh(x):
        return 2.0 * x
    from math import cosh as other
    return exp(x) + cosh(x) + other(x)

def all_locals(x):
    from math import exp
    return exp(x) * len(locals())

def declares(x):
    '''It counts.'''
    total = np.zeros(2) + 0.0
    if x > 0:
        global count
        count += 1
    def add(y):
        y = float(y)
        for k in range(2):
            nonlocal total
            total[k] = total[k] + y
        return math.exp(y)
    match count:
        case 0:
            global never
        case _:
            pass
    return add(x) * total.sum()

def assigns_from_within(x):
    total = 0.0
    def add(y):
        '''It adds.'''
        nonlocal total
        total += float(y)
        def keep():
            global kept
            kept = math.sin(float(y))
        keep()
    add(x)
    add(x)
    return kept * total
"""


@pytest.mark.parametrize(
    "name",
    [
        "of_its_own_name", "sqrt", "bound_otherwise", "all_locals", "declares", "imports",
        "assigns_from_within",
    ],
)  # fmt: skip
def test_functions_with_imports_and_declarations_run_as_they_were(name: str) -> None:
    names: dict[str, Any] = {"__name__": "within", "SEEN": lambda f: f(1.0)}
    plain = _module(WITHIN, **names)
    changed = _module(rewrite(WITHIN, "f"), __builtins__=BUILTINS, **names)
    assert changed[name](0.7) == plain[name](0.7)
    slope = (plain[name](0.7 + 1e-6) - plain[name](0.7 - 1e-6)) / 2e-6
    for derive in (fd.grad(changed[name]), fd.jit(fd.jacfwd(changed[name]))):
        np.testing.assert_allclose(derive(0.7), slope, 1e-7)
    assert changed["count"] == (3 if name == "declares" else 0)
    assert changed["declares"].__doc__ == "It counts."


def test_functions_call_what_they_import_within_as_it_is() -> None:
    names = _module(rewrite(WITHIN, "f"), __name__="f", __builtins__=BUILTINS)
    called = {name: names[name].__code__.co_varnames for name in ("imports", "sqrt", "all_locals")}
    assert {"__funcdiff_own_ln__", "__funcdiff_own_gammaln__"} < {*called["imports"]}
    assert called["sqrt"] == ("x", "sqrt", "__funcdiff_own_sqrt__")
    assert called["all_locals"] == ("x", "exp")
    assert "__funcdiff_trace__" in names["declares"].__code__.co_names


def test_sums_may_have_more_terms_than_calls_may_be_nested() -> None:
    terms = "+".join(["float(x)"] * 900)
    text = f"def f(x):\n    return {terms}\n"
    f: Callable[[Any], Any] = _module(rewrite(text, "f"), __builtins__=BUILTINS)["f"]
    assert f(0.5) == 450
    assert fd.grad(f)(0.5) == 900
