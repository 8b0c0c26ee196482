"""What changes between calls is seen: each call does what it does if every call is traced."""

from __future__ import annotations

import dis
from typing import Any

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.api.calls import differentiated, repeated
from funcdiff.api.calls.closed_code import INSTRUCTIONS
from tests.api.changing_programs import CALLS, Program, are_alike, every, program

TRANSFORMS = {
    "grad": lambda f, x, *given: fd.grad(f)(x, *given),
    "value_and_grad": lambda f, x, *given: fd.value_and_grad(f)(x, *given),
    "vjp": lambda f, x, *given: fd.vjp(f, x, *given, argnums=0)[1](1.0),
    "jvp": lambda f, x, *given: fd.jvp(f, (x, *given), (np.cos(x),), argnums=0),
    "jacobian": lambda f, x, *given: fd.jacobian(f)(x, *given),
    "hessian": lambda f, x, *given: fd.hessian(f)(x, *given),
    "hvp": lambda f, x, *given: fd.hvp(f, (x, *given), (np.cos(x),), argnums=0),
}

REFUSED = frozenset(
    """
    <0> ANNOTATIONS_PLACEHOLDER ASYNC_GEN_WRAP BEFORE_ASYNC_WITH BEFORE_WITH BUILD_INTERPOLATION
    BUILD_SET BUILD_STRING BUILD_TEMPLATE CALL_INTRINSIC_2 CHECK_EG_MATCH CHECK_EXC_MATCH
    CLEANUP_THROW CONVERT_VALUE DELETE_ATTR DELETE_DEREF DELETE_FAST DELETE_GLOBAL DELETE_NAME
    DELETE_SUBSCR DO_TRACE END_ASYNC_FOR END_SEND ENTER_EXECUTOR EXIT_INIT_CHECK FORMAT_SIMPLE
    FORMAT_VALUE FORMAT_WITH_SPEC GET_AITER GET_ANEXT GET_AWAITABLE GET_YIELD_FROM_ITER
    IMPORT_FROM IMPORT_NAME IMPORT_STAR INTERPRETER_EXIT IS_OP JUMP JUMP_IF_FALSE JUMP_IF_TRUE
    JUMP_NO_INTERRUPT LOAD_BUILD_CLASS LOAD_CLASSDEREF LOAD_FROM_DICT_OR_DEREF
    LOAD_FROM_DICT_OR_GLOBALS LOAD_LOCALS LOAD_NAME LOAD_SPECIAL LOAD_SUPER_ATTR
    LOAD_SUPER_METHOD LOAD_ZERO_SUPER_ATTR LOAD_ZERO_SUPER_METHOD MATCH_CLASS MATCH_KEYS
    MATCH_MAPPING MATCH_SEQUENCE POP_BLOCK POP_EXCEPT PREP_RERAISE_STAR PRINT_EXPR PUSH_EXC_INFO
    RESERVED RESUME_CHECK SEND SETUP_ANNOTATIONS SETUP_CLEANUP SETUP_FINALLY SETUP_WITH SET_ADD
    SET_UPDATE STORE_ATTR STORE_GLOBAL STORE_NAME TRACE_RECORD WITH_EXCEPT_START
    """.split()  # noqa: SIM905
)
"""Instructions that make code open: text, imports, classes, errors caught, names stored, sets."""

WAYS = {
    "a range": ("def f(x, r): return sum([x[i] * (i + 1) for i in r])", "", "range(k % 3 + 1)"),
    "bytes": ("def f(x, b): return np.sum(x) * len(b)", "", "bytes(k % 3 + 1)"),
    "types of numbers": ("def f(x, n): return np.sum(x) if n is True else np.max(x)", "",
                         "[True, 1][k % 2]"),
    "integers that are too long for text": (
        "def f(x, n): return np.sum(x) if n > 9 else np.max(x)", "", "[10**5000, 1][k % 2]"),
    "zeros of both signs": ("def f(x, n): return np.sum(x) * np.copysign(1.0, n)", "",
                            "[0.0, -0.0][k % 2]"),
    "nan": ("L = [float('nan')]\ndef f(x, n): return np.sum(x) if n in L else np.sum(x**2)", "",
            "L[0] if k < 5 else float('nan')"),
    "identity": ("b = float('2.5')\ndef f(x, u):\n"
                 "    return np.sum(x) if u is (b if len(x) == 3 else None) else np.max(x)", "",
                 "b if k < 5 else float('2.5')"),
    "keys": ("def f(x, d): return np.sum(x) * sum([q if q is True else 3.0 for q in d])", "",
             "[{1: 2.0}, {True: 2.0}][k % 2]"),
    "names of arguments": ("def f(x, n, **o): return np.sum(x) * len([q % n for q in o][0])", "",
                           "k, **[{'%s': 1}, {'%5s': 1}][k % 2]"),
    "fields that are compared": (
        "@dataclass\nclass M:\n    c: float\nm, n = M(1.0), M(2.0)\n"
        "def f(x): return np.sum(x) if m == n else np.max(x)", "m.c = 2.0"),
    "fields that are ordered": ("m, n = Data(1.0), Data(2.0)\n"
                                "def f(x): return np.sum(x) if m < n else np.max(x)", "m.at = 3.0"),
    "fields that are hashed": ("m, D = Data(1.0), {Data(1.0): 1.0, Data(2.0): 2.0}\n"
                               "def f(x): return np.sum(x) * D.get(m, 5.0)", "m.at = 2.0"),
    "namespaces that are compared": (
        "m, n = SimpleNamespace(c=1.0), SimpleNamespace(c=2.0)\n"
        "def f(x): return np.sum(x) if m == n else np.max(x)", "m.c = 2.0"),
    "text of fields": ("m = Data(1.0)\ndef f(x): return np.sum(x) * len(f'{m}')", "m.at = 22.125"),
    "an f-string": ("m = Text()\ndef f(x): return np.sum(x) * len(f'{m}')", "m.size = 3"),
    "str": ("m = Text()\ndef f(x): return np.sum(x) * len(str(m))", "m.size = 3"),
    "a format": ("m = Text()\ndef f(x): return np.sum(x) * len('%s' % m)", "m.size = 3"),
    "a format of a function": (
        "h = lambda: 2.0\ndef f(x): return np.sum(x) * len('%s' % h)", "h.__qualname__ = 'h'"),
    "a format by its method": ("m = Text()\ndef f(x): return np.sum(x) * len('{}'.format(m))",
                               "m.size = 3"),
    "bases": ("class A(Base):\n    c = 1.0\nclass B(Base):\n    c = 2.0\nclass M(A): pass\n"
              "m = M()\ndef f(x): return np.sum(x) * m.c", "M.__bases__ = (B,)"),
    "a class": ("class A(Base):\n    c = 1.0\nclass B(Base):\n    c = 2.0\nm = A()\n"
                "def f(x): return np.sum(x) * m.c", "m.__class__ = B"),
    "an operator": ("m = Plain()\ndef f(x): return np.sum(x) if m else np.max(x)",
                    "Plain.__bool__ = lambda self: False"),
    "a property that is called": (
        "c = [2.0]\nclass M:\n    @property\n    def __call__(self): return lambda x: x * c[0]\n"
        "m = M()\ndef f(x): return np.sum(m(x))", "c[0] = 3.0"),
    "a property that Python asks": (
        "c = [1]\nclass M:\n    @property\n    def __class__(self): return (int, float)[c[0]]\n"
        "m = M()\ndef f(x): return np.sum(x) if isinstance(m, int) else np.max(x)", "c[0] = 0"),
    **{f"a property that NumPy asks: {name}": (
        f"c = [2.0]\nclass M:\n    @property\n    def {name}(self): return lambda *a, **k: c[0]\n"
        "m = M()\ndef f(x): return np.sum(x) * np.mean(m)", "c[0] = 3.0")
       for name in ("mean", "__array__")},
    "a property that gives a shape": (
        "c = [2]\nclass M:\n    @property\n    def shape(self): return (c[0],)\nm = M()\n"
        "def f(x): return np.sum(x) * len(np.shape(m)) * np.shape(m)[0]", "c[0] = 3"),
    "a property that gives keys": (
        "class M:\n    @property\n    def keys(self): return lambda: c\n"
        "    def __getitem__(self, k): return 2.0\nm, c = M(), ['a']\n"
        "def f(x): return np.sum(x) * len(dict(**m))", "c.append('b')"),
    "an array's interface": (
        "class M:\n    @property\n    def __array_interface__(self):"
        " return c[0].__array_interface__\n"
        "m, c = M(), [np.ones(2)]\ndef f(x): return np.sum(x) * np.sum(m)", "c[0] = np.ones(3)"),
    "an attribute of a partial function": (
        "h = functools.partial(max, 1.0)\nh.T = 2.0\ndef f(x): return np.sum(x) * h.T",
        "h.T = 3.0"),
    "an attribute of a partial function that NumPy asks": (
        "h = functools.partial(max, 1.0)\ndef f(x): return np.sum(x) * np.size(h)",
        "h.__array__ = lambda *a, **k: np.ones(3)"),
    "its own default": ("def f(x, c=2.0): return np.sum(c * x)", "f.__defaults__ = (5.0,)"),
    "its own code": ("def f(x): return np.sum(x)",
                     "f.__code__ = (lambda x: np.sum(x**2)).__code__"),
    "a name that hides Python's": ("L = [1.0, 2.0]\ndef f(x): return np.sum(x) * sum(L)",
                                   "sum = lambda L: 10.0"),
    "a name that hides no more": (
        "L = [1.0, 2.0]\nsum = lambda L: 10.0\ndef f(x): return np.sum(x) * sum(L)", "del sum"),
    "an attribute that is made": (
        "class M:\n    def __getattr__(self, name): return c[0]\nm, c = M(), [2.0]\n"
        "def f(x): return np.sum(m.c * x)", "c[0] = 3.0"),
    "a generator": ("def made():\n    for k in range(99):\n        yield float(k)\n"
                    "g = made()\ndef f(x): return np.sum(x) * next(g)", ""),
    "the environment": (
        "import os\nos.environ['FUNCDIFF_TEST'] = '2'\n"
        "def f(x): return np.sum(x) * int(os.environ['FUNCDIFF_TEST'])",
        "os.environ['FUNCDIFF_TEST'] = '3'"),
    "code that is evaluated": ("c = 2.0\ndef f(x): return np.sum(x) * eval('c')", "c = 3.0"),
    "what a function made by us sees": (
        "import funcdiff as fd\nc = 2.0\nh = fd.checkpoint(lambda x: c * x)\n"
        "def f(x): return np.sum(h(x))", "c = 3.0"),
    "what our loops see": (
        "import funcdiff as fd\nc = 2.0\ndef h(y, v): return y + c * v, None\n"
        "def f(x): return fd.scan(h, 0.0, x)[0]", "c = 3.0"),
    "a rule": (
        "import funcdiff as fd\nc = 2.0\nh = fd.custom_vjp(lambda x: c * x)\n"
        "h.defvjp(lambda x: (c * x, None), lambda _, ct: (c * ct,))\n"
        "def f(x): return np.sum(h(x))", "c = 3.0"),
    "an operand of the same name": ("c = 2.0\ndef f(x): return np.sum(c * x)", "c = X.copy()"),
    "print options": ("A = np.array([1 / 3])\ndef f(x): return np.sum(x) * len(str(A))",
                      "np.set_printoptions(precision=3)"),
    "print options of strings in arrays": (
        "c = np.float64(1 / 3)\ndef f(x): return np.sum(x) * len(np.array([c, 'a'])[0])",
        "np.set_printoptions(legacy='1.13')"),
    "errors of division": ("A = np.zeros(1)\ndef f(x): return np.sum(x) * np.sum(np.isinf(1 / A))",
                           "np.seterr(divide='raise')"),
    "errors of underflow": ("A = np.full(1, -1e3)\ndef f(x): return np.sum(x) * (1 + np.exp(A[0]))",
                            "np.seterr(under='raise')"),
    "warnings": ("A = np.zeros(0)\ndef f(x): return np.sum(x) * (1.0 + np.isnan(np.mean(A)))", ""),
    "what text counts": (
        "class M:\n    def __str__(self):\n        seen.append(1)\n        return 'x'\nm = M()\n"
        "def f(x): return np.sum(x) * len('%s' % m)", ""),
    "modules": ("m = types.ModuleType('m')\nm.at = 2.0\ndef f(x): return np.sum(x) * m.at",
                "m.__class__ = Module"),
    "a module that NumPy asks": (
        "m = types.ModuleType('m')\ndef f(x, n): return np.sum(x) * np.size(n)",
        "m.__array__ = lambda *a, **k: np.ones(3)", "m"),
    "a module that is passed on": (
        "m = types.ModuleType('m')\nm.at = 2.0\ndef f(x, n): return np.sum(x) * n.at",
        "m.at = 3.0", "m"),
    "NumPy, passed on": (
        "import funcdiff.numpy as fnp\ndef g(n, x): return n.sum(n.linalg.norm(x) * c)\nc = 2.0\n"
        "f = functools.partial(g, [np, fnp][0])", "c = 3.0"),
    "what a module makes": (
        "m, c = types.ModuleType('m'), [2.0]\nm.__getattr__ = lambda name: c[0]\n"
        "def f(x): return np.sum(x) * m.c", "c[0] = 3.0"),
    "a function that is made anew": (
        "def g(c): return lambda x: np.sum(x) * c\nf = g(1.5)", "f = g(2.5)"),
    "Python's own names": (
        "L = [1.0, 3.0]\nB = dict(vars(__import__('builtins')))\n"
        "space = {'np': np, 'L': L, '__builtins__': B}\n"
        "exec('def f(x): return np.sum(x) * [max(q) for q in [L]][0]', space)\nf = space['f']",
        "B['max'] = min"),
    "globals that make names": (
        "class G(dict):\n    def __missing__(self, name): return c[0]\n"
        "c, space = [2.0], G(np=np, sum=sum, __builtins__=vars(__import__('builtins')))\n"
        "exec('def f(x): return np.sum(x) * c', space)\nf = dict.get(space, 'f')", "c[0] = 3.0"),
    "one list that was two": (
        "L = [1.0]\nM = L\ndef f(x):\n    L.append(1.0)\n    n = len(M)\n    L.pop()\n"
        "    return np.sum(x) * n", "M = [1.0]"),
    "one list that is given": (
        "L, M = [1.0], [1.0]\ndef f(x, l):\n    l.append(1.0)\n    n = len(L)\n    l.pop()\n"
        "    return np.sum(x) * n", "", "L if k < 5 else M"),
    "memory that was shared": (
        "B = np.arange(3.0)\nA, state = B[:], np.arange(3.0).__reduce__()[2]\n"
        "def f(x):\n    A[0] += 1.0\n    n = B[0]\n    A[0] -= 1.0\n    return np.sum(x) * n",
        "A.__setstate__(state)"),
    "the array of which a view is seen": (
        "B = np.arange(4.0)\nA = B[1:]\ndef f(x): return np.sum(x) * np.sum(A.base)",
        "B[0] = 5.0"),
    "an array that is written to in vain": (
        "A = np.zeros(3)\ndef f(x):\n    A[0] = 0.0\n    return np.sum(x * (A + 1.0))",
        "A.flags.writeable = False"),
}  # fmt: skip
"""What a function sees, and what changes: before the fifth call, or in what each call is given."""


@pytest.fixture(autouse=True)
def _as_they_were() -> Any:
    """Leave NumPy's options as they are."""
    options, errors = np.get_printoptions(), np.geterr()
    yield
    np.set_printoptions(**options)
    np.seterr(**errors)


def compare(found: Program, transform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare calls with those of a twin of the program that is traced in every call."""
    options, errors = np.get_printoptions(), np.geterr()
    repeated.forget_calls()
    results = found.results(transform)
    np.set_printoptions(**options)
    np.seterr(**errors)
    with monkeypatch.context() as patch:
        patch.setattr(differentiated, "known_call", lambda *_: None)
        expected = found.results(transform)
    assert are_alike(results, expected), f"{found.source}\n{found.call}\n{found.changes}"


@pytest.mark.parametrize("name", WAYS)
def test_what_decides_in_another_way_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source, change, *given = WAYS[name]
    changes = [f"k = {k}{'; ' + change if change and k == 4 else ''}" for k in range(CALLS)]
    for transform in ("grad", "jvp"):
        found = Program(source, f"d(f, X{', ' + given[0] if given else ''})", changes)
        compare(found, TRANSFORMS[transform], monkeypatch)


def test_every_change_of_what_a_function_can_see_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in every():
        compare(found, TRANSFORMS["grad"], monkeypatch)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_random_changes_of_random_programs_are_seen(
    transform: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(12):
        compare(program(f"{transform} {seed}"), TRANSFORMS[transform], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_more_random_changes_are_seen(
    transform: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(100 * part + 100, 100 * part + 150):
        compare(program(f"{transform} {seed}"), TRANSFORMS[transform], monkeypatch)


def test_every_instruction_of_this_python_has_been_looked_at() -> None:
    known = INSTRUCTIONS | REFUSED
    names = [name for name in dis.opmap if not name.startswith(("INSTRUMENTED_", "_"))]
    assert sorted(set(names) - known) == []
    assert INSTRUCTIONS.isdisjoint(REFUSED)
