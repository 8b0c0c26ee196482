"""Methods and protocols of traced arrays: ndarray's, class identity, the array API standard."""

from __future__ import annotations

import sys
from functools import wraps
from types import FrameType, ModuleType
from typing import Any, Final, NoReturn

import numpy as np

from funcdiff.core.recording.builder import Builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import LostDerivativeError, UnsupportedNumPyError, user_frame, user_location
from funcdiff.numpy.border.conversions import Convertible
from funcdiff.numpy.border.dispatch import refuse
from funcdiff.numpy.border.promotion import program_dtype
from funcdiff.numpy.choosing import assignment
from funcdiff.numpy.memory import mutation, views
from funcdiff.numpy.memory.array_copies import on_cpu
from funcdiff.numpy.messages.mistakes import cure_in_scipy, explain
from funcdiff.numpy.namespace import numpy
from funcdiff.ops.structure.structural import convert


def _method(function: Any) -> Any:
    def method(self: Methods, *args: Any, **kwargs: Any) -> Any:
        return function(self, *args, **kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"Same as ``np.{function.__name__}``."
    return method


def _conjugate(x: Any, *out: Any, **keywords: Any) -> Any:
    """Return the conjugate; a real array itself, as the method of an ndarray does."""
    is_itself = not out and not keywords and x.dtype.kind != "c"
    return x if is_itself else np.conjugate(x, *out, **keywords)


class Methods(Convertible):
    """What traced arrays and scalars have of ndarray's methods."""

    __slots__ = ()

    @property
    def device(self) -> str:
        """Where the array is: NumPy has one device."""
        return "cpu"

    @property
    def flags(self) -> Any:
        """What NumPy says of the memory of the array that this one stands for."""
        return views.Flags(self)

    def to_device(self, device: str, /, *, stream: Any = None) -> Any:
        """Return the array, which is on the only device."""
        on_cpu("ndarray.to_device", device)
        if stream is not None:
            refuse("ndarray.to_device", stream=stream)
        return self

    all, any, argmax, argmin = map(_method, (np.all, np.any, np.argmax, np.argmin))
    argpartition, argsort = map(_method, (np.argpartition, np.argsort))
    put = _method(np.put)
    conj = conjugate = _conjugate
    cumprod, cumsum, diagonal, dot = map(_method, (np.cumprod, np.cumsum, np.diagonal, np.dot))
    max, mean, min, prod = map(_method, (np.max, np.mean, np.min, np.prod))
    nonzero, ravel, repeat, round = map(_method, (np.nonzero, np.ravel, np.repeat, np.round))
    searchsorted, squeeze, std, sum = map(_method, (np.searchsorted, np.squeeze, np.std, np.sum))
    swapaxes, take, trace, var = map(_method, (np.swapaxes, np.take, np.trace, np.var))

    def astype(
        self: Any,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Any:
        """Convert to another dtype."""
        try:
            target = np.dtype(dtype)
        except TypeError as error:
            explain(error, "x.astype", (dtype,))
            raise
        if not np.can_cast(self.type.dtype, target, casting):
            raise TypeError(
                f"Cannot cast array data from {self.type.dtype!r} to {target!r} according to the "
                f"rule {casting!r}, at {user_location()}"
            )
        target = program_dtype(target)
        is_array = isinstance(self, np.ndarray)
        if not is_array:
            return convert(self, target)
        if copy or target != self.dtype:
            return views.copy_in_order(views.as_array(convert(self, target)), order)
        return views.make_in_order(self, lambda b: b.astype(target, order, copy=False), order)

    def clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
        """Do what ``np.clip`` does; either bound may be left out."""
        return np.clip(self, min, max, out, **keywords)

    def choose(self: Any, *choices: Any, out: Any = None, mode: Any = "raise") -> Any:
        """Do what ``np.choose`` does; the choices may be given as several arrays."""
        return np.choose(self, choices[0] if len(choices) == 1 else choices, out, mode)

    def compress(self: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Do what ``np.compress`` does."""
        return np.compress(condition, self, axis, out)

    def copy(self: Any, order: Any = "C") -> Any:
        """Return a copy, laid out in memory in the given order."""
        return np.copy(self, order)

    def flatten(self: Any, order: Any = "C") -> Any:
        """Return a copy collapsed to one axis."""
        return np.copy(np.ravel(self, order))

    def reshape(self: Any, *shape: Any, order: Any = "C", copy: bool | None = None) -> Any:
        """Do what ``np.reshape`` does; the shape may be given as several ints."""
        target = shape[0] if len(shape) == 1 else shape
        wanted = {} if copy is None else {"copy": copy}  # a keyword of NumPy 2.1
        return np.reshape(self, target, order, **wanted)

    def transpose(self: Any, *axes: Any) -> Any:
        """Do what ``np.transpose`` does; the axes may be given as several ints."""
        order = (axes[0] if len(axes) == 1 else axes) if axes else None
        return np.transpose(self, order)

    def fill(self: Any, value: Any) -> None:
        """Set every element to a value, in place."""
        assignment.put(self, ..., value)

    def sort(
        self: Any, axis: Any = -1, kind: Any = None, order: Any = None, **keywords: Any
    ) -> None:
        """Sort in place along an axis."""
        result: Any = np.sort(self, axis, kind, order, **keywords)
        mutation.assign(self, result)

    def partition(
        self: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
    ) -> None:
        """Put the kth smallest elements where they belong along an axis, in place."""
        result: Any = np.partition(self, kth, axis, kind, order)
        mutation.assign(self, result)

    # ---- copies ----------------------------------------------------------------------------

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce__(self) -> NoReturn:
        raise LostDerivativeError(
            f"a traced array was pickled at {user_location()}. Pickle the result of the derivative "
            "instead; a traced array lives only while its function is being traced."
        )


# ---- Class identity of traced values: ``isinstance``, ``match`` and dispatch by type -------------
#
# ``isinstance``, ``match``, ``functools.singledispatch`` and abstract base classes ask a value for
# its ``__class__``; abstract base classes also look for methods in the bases of its type.


class StandsFor(type):
    """The class of classes that show the bases of another, ``_stands_for``, as theirs.

    With its own bases a traced array would be a ``collections.abc.Hashable``, since it has a
    ``__hash__`` that raises, and a traced scalar an ``Iterable``.
    """

    _stands_for: type[Any]
    _claimed: tuple[type[Any], ...]

    @property
    def __mro__(cls) -> Any:
        return cls._stands_for.__mro__

    def __eq__(cls, other: object) -> bool:
        """Refuse ``type(x) == np.ndarray`` in the user's code: false here, where it is true."""
        if (
            cls is not other
            and isinstance(other, type)
            and issubclass(other, cls._claimed)
            and user_frame() is sys._getframe(1)
        ):
            name = other.__name__
            raise TypeError(
                f"type(x) was compared with {name} at {user_location()}, where x is a traced value "
                f"that has a type of its own. Write isinstance(x, {name}), which holds if it "
                "holds for what x stands for."
            )
        return cls is other

    __hash__ = type.__hash__


class NoSuchMethodError(TypeError, AttributeError):
    """A method of Python's protocols is not there: ``hasattr`` is false, and a use raises."""


class UnsupportedAttributeError(UnsupportedNumPyError, AttributeError):
    """A traced array has not an attribute that ndarrays have: ``hasattr`` is false."""


class NoMatricesError(ValueError, AttributeError):
    """An array of fewer than two axes has no ``mT``: NumPy's error, and ``hasattr`` is false."""


class Absent:
    """Stands where a method would be, and raises with the place and the cure when it is used."""

    def __init__(self, problem: str, cure: str) -> None:
        self._problem = problem
        self._cure = cure

    def __get__(self, instance: Any, owner: Any = None) -> NoReturn:
        cure = cure_in_scipy() or self._cure
        raise NoSuchMethodError(f"{self._problem}, at {user_location()}. {cure}")


# ---- The array API standard: traced arrays have a namespace of their own, `funcdiff.numpy` -------
#
# Code for any array library asks an array for its namespace. That of plain arrays is another one,
# and the library with which such code asks (array-api-compat, of which SciPy and scikit-learn have
# copies) refuses arguments of both. But functions of ours take plain arrays, too. So, when a traced
# array is first asked, the function of each copy that finds the namespace of a class learns to
# leave plain arrays out of account beside traced ones. Another one learns that traced scalars, as
# NumPy's, cannot be written, so that a copy of them is made for it.


_FOUND_BY: Final = "_cls_to_namespace"
"""The function that finds the namespace of a class."""

_WRITEABLE_BY: Final = "_is_writeable_cls"
"""The function that says of a class whether its objects can be written: of scalars not."""

_PLAIN: Final = (np.ndarray, np.generic)
_taught: Final[set[str]] = set()
"""Modules that know already."""


def namespace_of_traced() -> ModuleType:
    """Return the namespace of traced arrays."""
    frame: FrameType | None = sys._getframe(2)
    module = str(frame.f_globals.get("__name__", "")) if frame is not None else ""
    if frame is not None and module.endswith("array_api_compat.common._helpers"):
        _teach(module)
        found = frame.f_locals.get("namespaces")  # of arrays that came before
        if isinstance(found, set):
            found.difference_update([xp for xp in found if xp is not numpy])
        return _answer_to_sklearn(frame) or numpy
    return numpy


def _answer_to_sklearn(frame: FrameType) -> ModuleType | None:
    """Return NumPy's namespace where an estimator that was fitted in it compares the two.

    Metrics make a number of Python of their result, and go on with the traced one from now on.
    """
    asking: FrameType | None = frame
    while asking is not None:
        home = str(asking.f_globals.get("__name__", ""))
        if not home.startswith("sklearn."):
            return None
        if asking.f_code.co_name == "check_same_namespace":
            return sys.modules["sklearn.externals.array_api_compat.numpy"]
        if home.startswith("sklearn.metrics."):
            asking.f_globals["float"] = _Float
        asking = asking.f_back
    return None


class _ToFloat(type):
    def __call__(cls, x: Any = 0.0) -> Any:
        return x if isinstance(x, Tracer) and not x.type.shape else float(x)

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, float)


class _Float(metaclass=_ToFloat):
    """The ``float`` of scikit-learn's metrics: that of traced scalars is the scalar."""

    dtype: Final = np.dtype(float)  # for NumPy, which takes it for the dtype, too


def _teach(module: str) -> None:
    """Let a copy of array-api-compat leave plain arrays out of account beside traced ones."""
    helpers: Any = sys.modules[module]
    original = getattr(helpers, _FOUND_BY, None)
    if original is None or module in _taught:
        return
    _taught.add(module)

    @wraps(original)
    def find(cls: Any, *args: Any, **kwargs: Any) -> Any:
        others = sys._getframe(1).f_locals.get("xs", ())
        if issubclass(cls, _PLAIN) and any(isinstance(x, Tracer) for x in others):
            return None, helpers._ClsToXPInfo.SCALAR
        return original(cls, *args, **kwargs)

    setattr(helpers, _FOUND_BY, find)
    writeable = getattr(helpers, _WRITEABLE_BY, None)
    if writeable is not None:

        def is_writeable(cls: Any) -> Any:
            is_scalar = issubclass(cls, Tracer) and cls is not Builder.array_handle
            return False if is_scalar else writeable(cls)

        setattr(helpers, _WRITEABLE_BY, is_writeable)
