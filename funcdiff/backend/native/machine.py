"""LLVM, which makes machine code of its text."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final
from weakref import finalize

from funcdiff.backend.native.formulas import LIBRARY
from funcdiff.core.late import compiling, late_import
from funcdiff.errors import InputError, user_location

PYTHON: Final = (
    "PyFloat_AsDouble", "PyLong_AsLongLong", "PyLong_FromLong", "PyObject_IsTrue",
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyEval_SaveThread",
    "PyEval_RestoreThread", "PyObject_CallObject", "Py_DecRef",
)  # fmt: skip
"""Functions of Python that texts declare."""


def require() -> None:
    """Raise InputError unless LLVM is installed."""
    try:
        late_import("llvmlite.binding")
    except ImportError as error:
        raise InputError(
            "jit: engine='llvm' needs the package llvmlite, which is not installed, at "
            f'{user_location()}. Install it: python -m pip install "funcdiff[llvm]". Without '
            "`engine` NumPy computes everything."
        ) from error


_MOST: Final = 256
"""Programs in machine code up to which it is chosen unasked: LLVM keeps 0.9 MB for each."""

WEIGHT: Final = 1024
"""What one weighs where results are kept, in equations of 1 kB."""


def may_be_chosen() -> bool:
    """Whether programs may be machine code unasked."""
    return is_tried_here() and MachineCode.alive < _MOST


@lru_cache(maxsize=1)
def is_tried_here() -> bool:
    """Whether LLVM is installed, in a version and on a system with which all this is tested."""
    if sys.platform != "linux":
        return False
    try:
        llvm = late_import("llvmlite.binding")
    except (ImportError, OSError):
        return False
    return hasattr(llvm, "create_pass_builder")


def is_started() -> bool:
    """Whether LLVM has been made ready."""
    return bool(_machine.cache_info().currsize)


@lru_cache(maxsize=1)
def _machine() -> Any:
    """Return LLVM, made ready for this processor."""
    llvm = late_import("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    for name in PYTHON:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    for name in LIBRARY:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return llvm


_made: Final = count(1)


class MachineCode:
    """The machine code of a text, at the `address` of a function in it, as long as this lives."""

    alive: ClassVar[int] = 0

    def __init__(self, text: str, name: str) -> None:
        with compiling:
            engine = _engine(text)
            self.address: int = engine.get_function_address(name)
            MachineCode.alive += 1
        if next(_made) % _MOST == 0:  # those that nobody has may be in cycles, which look small
            gc.collect()

        def close() -> None:
            with compiling:
                engine.close()
                MachineCode.alive -= 1

        finalize(self, close).atexit = False


_PASSES: Final = ("sroa", "instruction_combine")
"""LLVM's passes that move small arrays from the stack to registers.

All of them together would take as long as the rest, and gain little, as the text says what loops
share; "new GVN", which llvmlite has, aborts the process for some programs.
"""


def _engine(text: str) -> Any:
    """Return what holds the machine code of a text."""
    llvm = _machine()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
    engine = llvm.create_mcjit_compiler(module, machine)
    place = _place(llvm, text, cpu, features)
    kept = _read(place)
    if place is not None:
        engine.set_object_cache(lambda _, code: _keep(place, code), lambda _: kept)
    if kept is None:
        passes = llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    engine.finalize_object()
    return engine


# ---- machine code on disk ------------------------------------------------------------------------
#
# FUNCDIFF_CACHE in the environment names a folder; by default nothing is kept.  A file has the name
# of all that its content follows from.  It begins with a digest: what was cut off is not run.


def _place(llvm: Any, *parts: str) -> Path | None:
    """Return the file for the machine code of a text for a processor, if any is to be kept."""
    folder = os.environ.get("FUNCDIFF_CACHE")
    if not folder:
        return None
    version = ".".join(map(str, llvm.llvm_version_info))
    told = "\0".join([*parts, *_PASSES, version, llvm.get_process_triple()])
    return Path(folder) / f"{sha256(told.encode()).hexdigest()}.o"


def _read(place: Path | None) -> bytes | None:
    if place is None:
        return None
    try:
        content = place.read_bytes()
    except OSError:
        return None
    digest, code = content[:32], content[32:]
    return code if code and sha256(code).digest() == digest else None


def _keep(place: Path, code: bytes) -> None:
    """Write a file, whole or not at all, whoever else writes it."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=place.parent) as folder:
            (made := Path(folder) / place.name).write_bytes(sha256(code).digest() + code)
            made.replace(place)
