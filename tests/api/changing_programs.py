"""Programs of what a function can see, and changes between its calls: chosen and random ones."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcdiff as fd
from funcdiff.adapting.copies import BUILTINS, module_for
from funcdiff.adapting.rewriting import rewrite
from funcdiff.api.calls import differentiated, repeated

CALLS = 8
PREAMBLE = """
import functools, types, math
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace
class Plain: pass
class Base: pass
class Other(Base):
    at = 9.0
class Module(types.ModuleType):
    @property
    def at(self): return 7.0
class Text:
    size = 1
    def __str__(self): return "x" * self.size
    __repr__ = __str__
class Same:
    size = 1
    def __eq__(self, other): return self.size == 2
    def __lt__(self, other): return self.size == 2
    def __hash__(self): return self.size
    def __bool__(self): return self.size == 2
@dataclass(order=True, unsafe_hash=True)
class Data:
    at: object
Pair = namedtuple("Pair", "at")
seen = []
counts = np.zeros(1)
"""

TRANSFORMS = {
    "grad": lambda f, x, *given: fd.grad(f)(x, *given),
    "value_and_grad": lambda f, x, *given: fd.value_and_grad(f)(x, *given),
    "vjp": lambda f, x, *given: fd.vjp(f, x, *given, argnums=0)[1](1.0),
    "jvp": lambda f, x, *given: fd.jvp(f, (x, *given), (np.cos(x),), argnums=0),
    "jacobian": lambda f, x, *given: fd.jacobian(f)(x, *given),
    "hessian": lambda f, x, *given: fd.hessian(f)(x, *given),
    "hvp": lambda f, x, *given: fd.hvp(f, (x, *given), (np.cos(x),), argnums=0),
}
"""Ways to differentiate a function at its first argument."""

WAYS = {
    "built-in names": ("import builtins\nB = dict(vars(builtins), two=2.0)\n__builtins__ = B\n"
                       "def f(x): return np.sum(x) * two", "B['two'] = 3.0"),
    "built-in names of functions within": (
        "import builtins\nB = dict(vars(builtins), two=2.0)\n"
        "def f(x): return (lambda y: np.sum(y) * two)(x)",
        "__builtins__ = B if k < 7 else dict(B, two=3.0)"),
    "what a static method sees": ("c = 2.0\nh = staticmethod(lambda y: y * c)\n"
                                  "def f(x): return np.sum(h(x))", "c = 3.0"),
    "a static method of something else": ("h = staticmethod(lambda y: y)\n"
        "def f(x): return np.sum(h(x))", "h.__init__(lambda y: 3.0 * y)"),
    "a warning beside what is written": (
        "A, L = np.zeros(1), []\ndef f(x):\n    L.append(1.0)\n"
        "    return np.sum(x) * len(L) * np.sum(np.isinf(1 / A))", ""),
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


class Thing(NamedTuple):
    """Something in a program.

    Attributes
    ----------
    setup
        Lines that make it.
    place
        An expression for it.
    use
        What makes a number of an expression for it.
    changes
        Statements that change it.
    """

    setup: str
    place: str
    use: str
    changes: list[str]


# name: what it is, what makes a number of it, and what changes it in place
_LEAVES = {
    "float": ("2.0", "{0}", []),
    "int": ("2", "{0}", []),
    "numpy": ("np.float64(2.0)", "{0}", []),
    "zero": ("0.0", "math.copysign(2.0, {0})", []),
    "text": ("'ab'", "len({0})", []),
    "format": ("'%3s'", "len({0} % 5)", []),
    "range": ("range(3)", "sum({0})", []),
    "slice": ("slice(2)", "sum([1.0, 2.0, 3.0][{0}])", []),
    "array": ("np.array([1.0, 2.0])", "np.sum(np.dot({0}, {0}.T))", [
        "{0}[0] += 1.0", "{0}.shape = (2, 1)",
    ]),
    "view": ("np.arange(4.0)[1:]", "np.sum({0} * {0})", ["{0}.base[2] += 1.0"]),
    "zeros": ("np.zeros(2)", "np.sum(np.isinf(1.0 / {0}))", ["np.seterr(divide='raise')"]),
    "digits": ("np.float64(1 / 3)", "len(np.array([{0}, 'a'])[0])", [
        "np.set_printoptions(legacy='1.13')",
    ]),
    "list": ("[1.0, 2.0]", "sum({0})", ["{0}.append(3.0)", "{0}[0] = 4.0", "{0}.clear()"]),
    "dict": ("{{'a': 1.0, 'b': 3.0}}", "[*{0}.values()][0]", [
        "{0}['a'] = 5.0", "{0}['a'] = {0}.pop('a')", "{0}.pop('a', 0); {0}.setdefault('b', 2.0)",
    ]),
    "set": ("{{1.0, 2.0}}", "max({0})", ["{0}.add(5.0)"]),
    "string": ("Text()", 'len(f"{{{0}}}")', ["{0}.size += 1"]),
    "old string": ("Text()", "len('%s' % {0})", ["{0}.size += 1", "Text.size += 1"]),
    "printed": ("Text()", "len(str({0}))", ["{0}.size += 1"]),
    "text of arrays": ("np.array([1 / 3])", "len(str({0}))", ["np.set_printoptions(precision=3)"]),
    "format of arrays": ("np.array([1 / 3])", "len(f\"{{{0}}}\")", [
        "np.set_printoptions(precision=3)",
    ]),
    "old format of arrays": ("np.array([1 / 3])", "len('%s' % {0})", [
        "np.set_printoptions(precision=3)",
    ]),
    "format of functions": ("(lambda: 2.0)", "len('%s' % {0})", ["{0}.__qualname__ += 'x'"]),
    "tiny": ("np.array([-1e3])", "np.sum(2.0 + np.exp({0}))", ["np.seterr(under='raise')"]),
    "equality": ("Same()", "(1.0 if {0} == 1 else 3.0)", ["{0}.size = 2"]),
    "order": ("Same()", "(1.0 if {0} < 1 else 3.0)", ["{0}.size = 2"]),
    "truth": ("Same()", "(1.0 if {0} else 3.0)", ["{0}.size = 2"]),
    "hash": ("Data(1.0)", "{{Data(1.0): 1.0, Data(2.0): 2.0}}.get({0}, 5.0)", ["{0}.at = 2.0"]),
    "operator": ("Plain()", "(1.0 if {0} else 3.0)", ["Plain.__bool__ = lambda self: False"]),
    "size": ("(lambda y: y)", "np.size({0})", [
        "{0}.__array__ = lambda *a, **k: np.ones(3)", "{0}.__array__ = lambda *a, **k: np.ones(4)",
    ]),
    "mean": ("Plain()", "np.size({0})", ["Plain.__array__ = lambda *a, **k: np.ones(3)"]),
    "module": ("types.ModuleType('m')", "np.size({0})", [
        "{0}.__array__ = lambda *a, **k: np.ones(3)", "{0}.size = 3",
    ]),
    "iterator": ("iter([float(k) for k in range(99)])", "next({0})", ["next({0})"]),
    "drawn": ("np.random.default_rng(0)", "{0}.random()", []),
    "function": ("(lambda: 2.0)", "{0}()", ["{0}.__code__ = (lambda: 3.0).__code__"]),
    "ufunc": ("np.sin", "{0}(0.5)", []),
    "typed": ("True", "(1.0 if {0} is True else 3.0)", []),
}  # fmt: skip
_AGAIN = {
    "float": ["3.0", "-2.0", "2"], "int": ["3", "2.0", "True"], "numpy": ["np.float32(2.5)"],
    "zero": ["-0.0"], "text": ["'abc'"], "format": ["'%5s'"], "range": ["range(1, 4)"],
    "slice": ["slice(1)"], "array": ["np.array([1.0, 5.0])", "np.array([1, 2])"],
    "list": ["[5.0]"], "dict": ["dict(a=7.0)"], "function": ["(lambda: 5.0)"],
    "ufunc": ["np.cos"], "typed": ["1"],
}  # fmt: skip
"""Other values of the same kind, for places that are bound anew."""

# what makes a holder w of the object o; the place of the object; what puts another one, n, there
_HOLDERS = [
    ("w = [o]", "w[0]", ["w[0] = n", "w.insert(0, n)", "w = [n]"]),
    ("w = (o,)", "w[0]", ["w = (n,)"]),
    ("w = {'at': o}", "w['at']", ["w['at'] = n", "w = {'at': n}"]),
    ("def make():\n    c = o\n    def w(): return c\n    def put(y):\n        nonlocal c\n"
     "        c = y\n    return w, put\nw, put_w = make()", "w()",
     ["put_w(n)", "w.__closure__[0].cell_contents = n"]),
    ("def w(c=o): return c", "w()", ["w.__defaults__ = (n,)", "w = lambda: n"]),
    ("def w(*, c=o): return c", "w()",
     ["w.__kwdefaults__['c'] = n", "w.__kwdefaults__ = {'c': n}"]),
    ("def w(c=[o]): return c[0]", "w()", ["w.__defaults__[0][0] = n"]),
    ("w = functools.partial(lambda c: c, o)", "w()",
     ["w = functools.partial(lambda c: c, n)", "w.__setstate__((lambda c: c, (n,), {}, {}))"]),
    ("w = functools.partial(lambda c: c, c=o)", "w()", ["w.keywords['c'] = n"]),
    ("w = types.ModuleType('w')\nw.at = o", "w.at", ["w.at = n", "w.__class__ = Module"]),
    ("w = types.ModuleType('w')\nw.within = types.ModuleType('v')\nw.within.at = o", "w.within.at",
     ["w.within.at = n", "w.within = SimpleNamespace(at=n)", "w.within.__class__ = Module"]),
    ("w = types.ModuleType('w')\nvalue_w = [o]\nw.__getattr__ = lambda name: value_w[0]", "w.at",
     ["value_w[0] = n", "w.at = n"]),
    ("w = Plain()\nw.at = o", "w.at",
     ["w.at = n", "w.__dict__ = {'at': n}", "w.__class__ = Other"]),
    ("class W(Base):\n    at = o\nw = W()", "w.at",
     ["w.at = n", "W.at = n", "W.__bases__ = (Other,)"]),
    ("class B:\n    pass\nclass C:\n    at = o\nclass W(C):\n    pass\nw = W()", "w.at",
     ["W.__bases__ = (type('D', (B,), {'at': n}),)", "C.at = n"]),
    ("class W:\n    @property\n    def at(self): return value_w[0]\nvalue_w = [o]\nw = W()", "w.at",
     ["value_w[0] = n", "W.at = n"]),
    ("class W:\n    __slots__ = ('at',)\nw = W()\nw.at = o", "w.at", ["w.at = n"]),
    ("w = Data(o)", "w.at", ["w.at = n"]),
    ("w = SimpleNamespace(at=o)", "w.at", ["w.at = n"]),
    ("w = Pair(o)", "w.at", ["w = Pair(n)", "Pair.at = property(lambda self: n)"]),
    ("def w(): return w.at\nw.at = o", "w()", ["w.at = n"]),
    ("value_w = [o]\nw = functools.lru_cache(lambda: value_w[0])", "w()",
     ["value_w[0] = n; w.cache_clear()"]),
    ("class W:\n    def __call__(self): return self.c\nw = W()\nw.c = o", "w()",
     ["w.c = n", "W.__call__ = lambda self: n"]),
    ("class W(list): pass\nw = W([o])", "w[0]", ["W.__getitem__ = lambda self, k: n", "w[0] = n"]),
    ("value_w = o\ndef w(): return globals()['value_w']", "w()", ["value_w = n"]),
    ("def h(): return o_w\no_w = o\ndef w(): return h_w()\nh_w = h", "w()",
     ["o_w = n", "h_w = lambda: n"]),
]  # fmt: skip

_TERMS = [
    "np.sum(x * {u})",
    "np.sum(x**2) * {u}",
    "(np.sum(x) if {u} > 2.0 else np.sum(np.sin(x)))",
    "sum([np.sum(x * q) for q in (1.0, {u})])",
    "np.sum(x) * (1.0 if x[0] > 0.0 else {u})",
    "max([{u}, 2.0]) * np.sum(np.cos(x))",
    "(lambda y: np.sum(y * {u}))(x)",
    "(lambda n, y: n.sum(n.tanh(y) * {u}))(np, x)",
    "np.sum(np.outer(x, np.full(2, {u})))",
    "sum(np.sum(x) * q for q in (2.0, {u}))",
]
_EFFECTS = [
    "seen.append(1)", "counts[0] += 1", "np.add.at(counts, [0], 1.0)", "np.put(counts, 0, 3.0)",
    "counts.fill(2.0)", "seen.clear()",
]  # fmt: skip


class Program(NamedTuple):
    """A program that defines `f`, how it is called, and the change before each call."""

    source: str
    call: str
    changes: list[str]

    def results(self, transform: Any, *, adapted: bool = False) -> list[Any]:
        """Return what each call gives: its numbers, or the name of an error; and its effects.

        The program may be that of an adapted module.
        """
        space: dict[str, Any] = {"np": np, "X": np.array([0.5, -1.25, 2.0]), "d": transform}
        code: Any = PREAMBLE + self.source
        if adapted:
            space |= {"__builtins__": BUILTINS, "np": module_for("numpy")}
            code = rewrite(code, "adapted")
        exec(code, space)
        found = []
        for change in self.changes:
            for line in change.splitlines():
                with suppress(Exception):  # some changes cannot be made, or not twice
                    exec(line, space)
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                result: list[Any]
                try:
                    result = [*map(np.asarray, fd.pytree.flatten(eval(self.call, space))[0])]
                except Exception as error:  # of which both must have the same
                    result = [type(error).__name__]
            found.append([*result, list(space["seen"]), space["counts"][0], len(heard)])
        return found


def are_alike(these: list[Any], those: list[Any]) -> bool:
    """Whether results are the same but for their last digits."""
    for a, b in zip(chain(*these), chain(*those), strict=True):
        numbers = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
        if not (np.allclose(a, b, 1e-12, equal_nan=True) if numbers else np.array_equal(a, b)):
            return False
    return True


def compare(
    found: Program, transform: Any, monkeypatch: pytest.MonkeyPatch, *, adapted: bool = False
) -> None:
    """Compare calls with those of a twin of the program that is traced in every call."""
    options, errors = np.get_printoptions(), np.geterr()
    repeated.forget_calls()
    results = found.results(transform, adapted=adapted)
    np.set_printoptions(**options)
    np.seterr(**errors)
    with monkeypatch.context() as patch:
        patch.setattr(differentiated, "find_call", lambda *_: None)
        expected = found.results(transform, adapted=adapted)
    np.set_printoptions(**options)
    np.seterr(**errors)
    assert are_alike(results, expected), f"{found.source}\n{found.call}\n{found.changes}"


def way(name: str) -> Program:
    """Return the program of one of `WAYS`."""
    source, change, *given = WAYS[name]
    changes = [f"k = {k}{'; ' + change if change and k == 4 else ''}" for k in range(CALLS)]
    return Program(source, f"d(f, X{', ' + given[0] if given else ''})", changes)


def program(seed: str) -> Program:
    """Return a random program."""
    rng = random.Random(seed)
    things = [_thing(rng, k) for k in range(rng.choice((1, 1, 2, 3)))]
    given = rng.randrange(len(things)) if rng.random() < 0.3 else None
    terms, setup = [], []
    for k, thing in enumerate(things):
        place = "given" if k == given else thing.place
        terms.append(rng.choice(_TERMS).format(u=thing.use.format(place)))
        setup.append(thing.setup)
    body = [rng.choice(_EFFECTS)] if rng.random() < 0.15 else []
    body += [f"return {' + '.join(terms)}"]
    names = "x" if given is None else "x, given"
    source = "\n".join([*setup, f"def f({names}):", *[f"    {line}" for line in body]])
    call = "d(f, X)" if given is None else f"d(f, X, {things[given].place})"
    if given is not None and rng.random() < 0.5:  # a function that is made anew
        source += "\ndef made(given): return lambda x: f(x, given)"
        call = f"d(made({things[given].place}), X)"
    changes = [""] * CALLS
    for thing in things:
        for _ in range(rng.randint(1, 2)):
            changes[rng.randrange(2, CALLS)] += f"\n{rng.choice([*thing.changes, 'X = -X'])}"
    return Program(source, call, changes)


def every() -> Iterator[Program]:
    """Yield a program for each change of each holder and of each leaf, before the fifth call."""
    of_holders = [(thing, thing.changes[:: len(_AGAIN["float"]) + 1]) for thing in
                  (_held("float", [holder], 0) for holder in _HOLDERS)]  # fmt: skip
    of_leaves = [(thing, thing.changes[len(_AGAIN.get(kind, "-")) - 1 :])
                 for kind in _LEAVES for thing in [_held(kind, [], 0)]]  # fmt: skip
    for thing, changes in of_holders + of_leaves:
        source = f"{thing.setup}\ndef f(x): return np.sum(x) * {thing.use.format(thing.place)}"
        for change in changes:
            yield Program(source, "d(f, X)", [change if k == 4 else "" for k in range(CALLS)])


def _thing(rng: random.Random, number: int) -> Thing:
    """Return something with a number, in up to two holders."""
    kind = rng.choice([*_LEAVES])
    return _held(kind, [rng.choice(_HOLDERS) for _ in range(rng.choice((0, 1, 1, 2)))], number)


def _held(kind: str, holders: Sequence[tuple[str, str, list[str]]], number: int) -> Thing:
    """Return a leaf in holders, the innermost one first."""
    value, use, inner = _LEAVES[kind]
    value, others = value.replace("{{", "{").replace("}}", "}"), _AGAIN.get(kind, [])
    name = f"v{number}"
    setup, place, changes = f"{name} = {value}", name, [f"{name} = {n}" for n in others]
    for depth, (make, at, puts) in enumerate(holders):
        holder = f"w{number}{depth}"
        setup += "\n" + _renamed(make, holder, place)
        place = _renamed(at, holder, place)
        changes = [_renamed(p, holder, place, n) for p in puts for n in [*others, value]]
    changes += [change.format(place) for change in inner]
    return Thing(setup, place, use, changes or [""])


def _renamed(text: str, holder: str, o: str, n: str = "") -> str:
    """Return a template with the names of a holder, an object, and a new one."""
    words = {"w": holder, "W": holder.upper(), "o": f"({o})", "n": f"({n})"}
    words |= {f"{x}_w": f"{x}_{holder}" for x in ("value", "put", "o", "h")}
    parts, word = [], ""
    for letter in f"{text} ":
        if letter.isidentifier() or (word and letter.isdigit()):
            word += letter
            continue
        parts += [words.get(word, word), letter]
        word = ""
    return "".join(parts)[:-1]
