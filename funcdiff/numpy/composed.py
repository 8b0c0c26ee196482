"""NumPy functions that are Python code over other NumPy functions: that code runs on traced arrays.

NumPy hands calls of its functions over, but not the conversions (``asarray(x)``) that such code
begins with, nor the making of new arrays.  So each function here is NumPy's own, of the installed
version, with these names bound to those of traced arrays.  Values, keywords, kinds of results and
errors are NumPy's by construction; derivatives are those of the functions that it calls.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, update_wrapper, wraps
from types import FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.numpy.border.dispatch import implements, refusal_error
from funcdiff.numpy.creation.construction import asarray, join_traced
from funcdiff.numpy.namespace import OURS
from funcdiff.numpy.shapes.joining import pads_at_once
from funcdiff.ops.structure.slicing import along, slice_of, trimmed, whole_of


def _names(text: str) -> list[str]:
    return text.split()


_CONVERSIONS: Final[dict[Any, Callable[..., Any]]] = {
    **{getattr(np, name): ours for name, ours in OURS.items() if callable(ours)},
    np.atleast_2d: lambda *xs: np.atleast_2d(*map(join_traced, xs)),
    np.broadcast: lambda *xs: np.broadcast(*map(np.empty, map(np.shape, xs))),
    np.asanyarray: asarray,  # which hands subclasses over by itself
    inspect.unwrap(np.concatenate): np.concatenate,
    inspect.unwrap(np.linalg.inv).__globals__["_makearray"]: lambda a: (asarray(a), asarray),
}
"""What does not hand calls over -> what does: conversions, new arrays, and what is unwrapped."""

_COMPOSED: Final = _names(
    """
    angle append apply_over_axes argwhere array_split atleast_1d atleast_2d atleast_3d block
    column_stack corrcoef cumulative_prod cumulative_sum diff dsplit dstack extract
    fill_diagonal flatnonzero fliplr flipud histogram2d hsplit hstack intersect1d isclose
    iscomplex iscomplexobj isneginf isposinf isreal isrealobj ix_ kron logspace matrix_transpose
    moveaxis nan_to_num ndim pad poly ptp real_if_close resize rollaxis rot90 select
    setdiff1d setxor1d shape size sort_complex split stack tile trapezoid trim_zeros union1d
    unique_all unique_counts unique_inverse unique_values unstack unwrap vander vsplit vstack
    fft.fft2 fft.fftn fft.fftshift fft.hfft fft.ifft2 fft.ifftn fft.ifftshift fft.ihfft
    fft.irfft2 fft.irfftn fft.rfft2 fft.rfftn
    emath.arccos emath.arcsin emath.arctanh emath.log emath.log10 emath.log2 emath.logn
    emath.power emath.sqrt
    linalg.cross linalg.diagonal linalg.matmul linalg.matrix_norm linalg.matrix_power
    linalg.matrix_rank linalg.matrix_transpose linalg.multi_dot linalg.outer linalg.tensordot
    linalg.tensorinv linalg.tensorsolve linalg.trace linalg.vecdot linalg.vector_norm
    """
)
"""By name; those that the installed NumPy does not have, or not in Python, are passed over."""

_BY_TYPES: Final = _names("column_stack diff dstack hstack moveaxis stack tile vstack")
"""Functions of whose first argument only the types of the arrays decide what is recorded."""

_WITHOUT_OUT: Final = ("fft.hfft", "fft.ifft2", "fft.irfft2")
"""Functions that take ``out=`` in some versions of NumPy, and do not write to it."""


def _with_conversions(value: Any) -> Any:
    """Return what a name of NumPy's code stands for when the code runs on traced arrays."""
    if isinstance(value, ModuleType) and getattr(value, "asarray", None) is np.asarray:
        return SimpleNamespace(**{k: _of_traced(v) for k, v in vars(value).items()})
    return _of_traced(value)


def _of_traced(value: Any) -> Any:
    return _CONVERSIONS.get(value, value) if callable(value) else value


@cache
def _scope_of(module: str) -> dict[str, Any]:
    """Return the globals of a module of NumPy's for traced arrays: conversions, own functions."""
    scope = {k: _with_conversions(v) for k, v in vars(sys.modules[module]).items()}
    scope["__name__"] = __name__
    for name, value in scope.items():
        if isinstance(value, FunctionType) and value.__module__ == module and name[0] == "_":
            scope[name] = _in_scope(value, scope)
    return scope


def _in_scope(plain: FunctionType, scope: dict[str, Any]) -> FunctionType:
    """Return a function of the same code whose global names mean those of a scope."""
    found = FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
    found.__kwdefaults__ = plain.__kwdefaults__
    return found


def own_code(plain: FunctionType) -> FunctionType:
    """Return a function of NumPy's whose own code runs on traced arrays."""
    return _in_scope(plain, _scope_of(plain.__globals__["__name__"]))


def _enter(name: str, function: Callable[..., Any], plain: FunctionType) -> None:
    """Enter NumPy's own code as what a function does to traced arrays."""
    own: Callable[..., Any] = own_code(plain)
    update_wrapper(own, function)
    ours = _refuse_out(own) if name in _WITHOUT_OUT else own
    if name in _OTHERWISE:
        ours = _OTHERWISE[name](ours)
    implements(function, operands=name in _BY_TYPES)(ours)


def _refuse_out(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that refuses ``out=``, which NumPy's takes without writing to it."""

    @wraps(own)
    def ours(*args: Any, **kwargs: Any) -> Any:
        if inspect.signature(own).bind(*args, **kwargs).arguments.get("out") is not None:
            name = f"np.fft.{own.__name__}"
            raise refusal_error(
                f"{name}(out=)", f"NumPy itself does not write to it; write out[...] = {name}(a)."
            )
        return own(*args, **kwargs)

    return ours


def _of_zeros(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of what it cuts off, too, of which the derivative is not zero.

    Of nothing but zeros np.poly1d keeps one.
    """

    @wraps(own)
    def ours(filt: Any, *args: Any, **kwargs: Any) -> Any:
        kept = own(filt, *args, **kwargs)
        if not isinstance(filt, Tracer):
            return kept
        if kept.shape == (0,) and _is_called_by(np.poly1d.__init__):
            whole = whole_of(filt)
            n = whole.shape[0]
            return trimmed(whole, along((n,), 0, n - 1, n)) if n else kept
        found = slice_of(kept) if kept.shape != filt.shape else None
        return trimmed(filt, found) if found else kept

    return ours


def _is_called_by(function: Any) -> bool:
    """Return whether that is what calls NumPy, which hands the call over to us."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_HANDED_OVER):
        frame = frame and frame.f_back
        if frame is not None and frame.f_code is function.__code__:
            return True
    return False


_HANDED_OVER: Final = 4
"""Calls between one of NumPy's functions and ours, at most."""


_OTHERWISE: Final[dict[str, Callable[..., Any]]] = {"trim_zeros": _of_zeros, "pad": pads_at_once}
"""Functions of NumPy's code, where that does not do for all arguments."""


for _name in _COMPOSED:
    _package, _, _last = _name.rpartition(".")
    _function: Any = getattr(getattr(np, _package) if _package else np, _last, None)
    _plain = inspect.unwrap(_function)
    if isinstance(_plain, FunctionType):
        _enter(_name, _function, _plain)
