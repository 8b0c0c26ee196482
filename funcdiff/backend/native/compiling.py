"""Compiles loops by LLVM, and makes NumPy ufuncs of them.

NumPy then does what it does for every ufunc: it broadcasts, walks through arrays of any layout,
converts byte orders, and lets other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Callable
from functools import lru_cache
from threading import Lock
from typing import Any, Final
from weakref import WeakValueDictionary

from funcdiff.backend.blocks.grouping import Loop
from funcdiff.backend.native.loops import loop_text
from funcdiff.errors import InputError, user_location

_lock: Final = Lock()
_FROM_FUNCTIONS: Final = 1
"""The place of `PyUFunc_FromFuncAndData` in NumPy's table for extension modules."""


def require() -> None:
    """Raise InputError unless LLVM is installed."""
    try:
        importlib.import_module("llvmlite.binding")
    except ImportError as error:
        raise InputError(
            "jit: engine='llvm' needs the package llvmlite, which is not installed, at "
            f'{user_location()}. Install it: python -m pip install "funcdiff[llvm]". Without '
            "`engine` NumPy computes everything."
        ) from error


class Compiled:
    """A loop as a ufunc, with the memory that its machine code is in.

    `text` is LLVM's of the function ``loop``, `types` are NumPy's numbers of the dtypes of operands
    and `results`.
    """

    def __init__(self, text: str, types: bytes, results: int) -> None:
        with _lock:
            self._engine, address = _machine_code(text)
        # NumPy looks into these as long as the ufunc lives
        self._kept = ((ctypes.c_void_p * 1)(address), (ctypes.c_void_p * 1)(None), types)
        # From operands, and arrays for the results, to these.
        self.function: Callable[..., Any] = _from_functions()(
            *self._kept, 1, len(types) - results, results, -1, b"loop", b"", 0
        )


_shared: Final[WeakValueDictionary[tuple[str, bytes, int], Compiled]] = WeakValueDictionary()
"""Those that kernels use, by text, types and number of results."""


def compile_loop(loop: Loop) -> Compiled:
    """Return the ufunc of a loop; loops of one text share it, whatever their shape."""
    types = bytes(v.type.dtype.num for v in (*loop.operands, *loop.stored))
    key = (loop_text(loop), types, len(loop.stored))
    found = _shared.get(key)
    return found or _shared.setdefault(key, Compiled(*key))


@lru_cache(maxsize=1)
def _from_functions() -> Any:
    """Return NumPy's C function that makes ufuncs."""
    table = importlib.import_module("numpy._core._multiarray_umath")._UFUNC_API
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    entries = ctypes.cast(pointer(table, None), ctypes.POINTER(ctypes.c_void_p))
    arrays, number = [ctypes.c_void_p] * 2, ctypes.c_int
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, *arrays, ctypes.c_char_p, number, number, number, number,
        ctypes.c_char_p, ctypes.c_char_p, number,
    )  # fmt: skip
    return kind(entries[_FROM_FUNCTIONS] or 0)


@lru_cache(maxsize=1)
def _machine() -> Any:
    """Return LLVM, made ready for this processor."""
    llvm = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    for name in ("sin", "cos"):  # of arguments that `mathematics` does not reduce
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return llvm


def _machine_code(text: str) -> tuple[Any, int]:
    """Return what holds the machine code of a loop, and its address."""
    llvm = _machine()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine, engine.get_function_address("loop")
