"""The files of a package that nobody wrote for traced arrays, and that imports in every way."""

from __future__ import annotations

from typing import Final

FILES: Final = {
    "__init__.py": '''
"""A toy."""
import numpy as np
from .shapes import *
from .shapes import Shape, ToyError
from . import late
__version__ = "1"
''',
    "everything.py": '''
import math
import toy
globals().update({k: v for k, v in vars(toy).items() if not isinstance(v, str)})
def own(x):
    return math.pow(x, 2)
''',
    "shapes.py": '''
import math
import sys
import warnings
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, lru_cache, wraps
from math import pi as PI
import numpy as np
from numpy import float64, sin
from scipy.optimize import fsolve
import toy.numbers_of as numbers

__all__ = ["area", "Kind"]
here = sys.modules[__name__]
TABLE = {"sin": np.sin, "sqrt": math.sqrt}


class Missing:
    def __getattribute__(self, name):
        raise ModuleNotFoundError("no module of that name")


missing = Missing()


class ToyError(ValueError):
    pass


@dataclass(frozen=True)
class FrozenError(ValueError):
    place: int


class Kind(Enum):
    ROUND = 1


def positive(function):
    @wraps(function)
    def checked(r, *args, **kwargs):
        if r < 0:
            raise ToyError(f"negative: {float(r)}")
        return function(r, *args, **kwargs)
    return checked


@positive
def area(r):
    return PI * math.pow(float(r), 2)


@lru_cache(maxsize=None)
def nodes(n):
    return np.linspace(0.0, 1.0, n)


class Base:
    factor = 2.0

    def scaled(self, x):
        return self.factor * np.asarray(x, dtype=float)


@dataclass
class Shape(Base):
    class Corner:
        pass

    r: float
    kind: Kind = Kind.ROUND
    others: list = field(default_factory=list)

    @property
    def area(self):
        return area(self.r)

    @cached_property
    def root(self):
        return math.sqrt(self.r)

    @classmethod
    def of_diameter(cls, d):
        return cls(d / 2)

    @staticmethod
    def doubled(x):
        return 2 * np.array(x, float64)

    def scaled(self, x):
        return super().scaled(x) * self.r

    def integral(self):
        x = nodes(5)
        out = np.zeros(5)
        for i in range(len(x)):
            out[i] = np.exp(-self.r * x[i])
        out /= self.r
        return out.sum()


class Slotted:
    __slots__ = ("_x",)

    def __init__(self, x):
        self._x = np.float64(x)

    def __call__(self, y):
        return TABLE["sin"](self._x * y) + TABLE["sqrt"](self._x)


def later(x, table=TABLE):
    yield from (table["sin"](float(v)) for v in x)


def warned(x):
    warnings.warn("a toy", UserWarning, stacklevel=2)
    return x**2


def warned_within(x):
    return positive(told)(x) + remembered(3)


def told(x, level=3):
    warnings.warn("a toy", stacklevel=level)
    return float(x) + told(x, 1) if level > 1 else x


@lru_cache
def remembered(x):
    warnings.warn("a toy", stacklevel=2)
    return x


def told_by_numpy(x):
    y = np.array([x, np.nanmean([math.nan])])
    y /= 0.0
    y[0] -= math.inf
    root = fsolve(lambda y: y**2 + float(x), 0.3)
    return root + sum(np.log(v) for v in (-x, -1.0))
''',
    "numbers_of.py": '''
import cmath
import importlib
import math
import numpy as np
from scipy.optimize import brentq
from scipy.special import erf

try:
    import there_is_no_such_module
except ImportError:
    there_is_no_such_module = None


def halved(x):
    counts = np.array([1.0, 2.0, 4.0])
    counts /= x
    return counts.sum()


def shared(x):
    counts = np.array([1.0, 2.0, 4.0])
    same = counts
    counts *= x
    return same.sum()


def kinds(x):
    found = [type(x) is float, isinstance(x, float), isinstance(x, (int, np.floating))]
    return x * sum(k * v for k, v in enumerate(found, 1))


def converted(x):
    return sum(map(float, [x, x * x])) + complex(x).real + np.asarray(x).item() + np.double(x)


def steps(x):
    return x * int(np.floor(x)) + math.floor(x) * x + round(x) + math.frexp(x)[0]


def joined(x):
    return erf(np.array([x, 2 * x], dtype=float)).sum() + np.ones(2).dot(np.array([x, x * x]))


def root(a):
    return brentq(lambda x: x * x - a, 0, 10)


def polynomial(a):
    return np.polynomial.Polynomial([a, 1.0, a])(2.0) + np.polynomial.polynomial.polyval(a, [1, 2])


def finite(x):
    if math.isnan(x) or math.isinf(x) or cmath.isnan(1j * x) or cmath.isinf(1j * x):
        return 0.0
    return x * x * (math.isfinite(x) + cmath.isfinite(1j * x))


def of_math(x):
    y = math.hypot(x, 1.0, x) + math.fsum([x, x * x]) + math.log(x, 10) + math.dist([x], [0.5])
    y += math.prod([x, x]) + math.remainder(x, 0.7) + math.fmod(x, 0.7) + math.atan2(x, 2)
    y += math.ldexp(x, 2) + math.modf(x)[0] + math.erf(x) + math.lgamma(x)
    return y + math.copysign(x, -1.0) + abs(cmath.exp(1j * x) - 1) + (cmath.phase(1 + 1j * x))


vectorized = np.vectorize(lambda x, y=1.0: math.sin(x) * y if x > 0 else 0.0)


def by_name(x):
    late = importlib.import_module(".late", "toy")
    return importlib.import_module("toy.late").cube(x) + late.cube(x)
''',
    "late/__init__.py": '''
from ..shapes import area as _area


def cube(x):
    from .deep import cubed
    return cubed(x)


def __getattr__(name):
    if name == "deep_cube":
        import lazily
        return lazily.load("toy.late.deep").cubed
    raise AttributeError(name)
''',
    "late/deep.py": '''
import math


def cubed(x):
    return math.sqrt(x) ** 6
''',
}  # fmt: skip

LAZILY: Final = """
import importlib


def load(name):
    return importlib.import_module(name)
"""

NUMBA: Final = """
def njit(function=None, **options):
    def compiled(f):
        def call(*args):
            if any(type(x).__name__ not in ("float", "int", "float64", "ndarray") for x in args):
                raise TypeError("cannot determine Numba type")
            return f(*args)
        return call
    return compiled if function is None else compiled(function)


def vectorize(*signatures, **options):
    import numpy as np
    return lambda f: lambda *xs: np.vectorize(f)(*xs)[()]


def guvectorize(signatures, layout):
    def compiled(kernel):
        assert "__funcdiff_trace__" not in kernel.__code__.co_names  # as of compiled code
        def call(x):
            out = np.zeros(1)
            kernel(x, out)
            return out[0]
        return call
    import numpy as np
    return compiled


prange = range
"""
COMPILED: Final = """
import numpy as np
from numba import guvectorize, njit, prange, vectorize

UNIT = 1.0


def set_unit(unit):
    global UNIT
    UNIT = unit


@njit
def total(x):
    found = 0.0
    for k in prange(3):
        found += x ** k * UNIT
    return found


@njit(cache=True)
def twice(x):
    return 2 * total(x)


@vectorize(["float64(float64)"], target="cpu")
def cut(x):
    return x * UNIT if x > 0 else 0.0


@guvectorize(["void(float64[:], float64[:])"], "(n)->()")
def sum_of_squares(x, out):
    out[0] = 0.0
    for k in range(x.shape[0]):
        out[0] += x[k] ** 2
"""
