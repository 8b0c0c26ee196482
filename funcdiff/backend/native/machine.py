"""LLVM, which makes machine code of its text."""

from __future__ import annotations

import ctypes
import importlib
import os
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkstemp
from threading import Lock
from typing import Any, Final

from funcdiff.backend.native.formulas import LIBRARY
from funcdiff.errors import InputError, user_location

PYTHON: Final = (
    "PyFloat_AsDouble", "PyLong_AsLongLong", "PyLong_FromLong", "PyObject_IsTrue",
    "PyGILState_Ensure", "PyGILState_Release", "PyErr_CheckSignals", "PyEval_SaveThread",
    "PyEval_RestoreThread", "PyObject_CallObject", "PyErr_Clear", "Py_DecRef",
    "PyErr_ExceptionMatches",
)  # fmt: skip
"""Functions of Python that texts declare."""

making: Final = Lock()
"""Held while machine code is made: LLVM has one context for all."""


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


@lru_cache(maxsize=1)
def _machine() -> Any:
    """Return LLVM, made ready for this processor."""
    llvm = importlib.import_module("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    for name in PYTHON:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    error = ctypes.c_void_p.in_dll(ctypes.pythonapi, "PyExc_Exception")
    llvm.add_symbol("PyExc_Exception", ctypes.addressof(error))
    for name in LIBRARY:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)
    return llvm


def machine_code(text: str, name: str) -> tuple[Any, int]:
    """Return what holds the machine code of a text, and the address of a function in it.

    Small arrays move from the stack to registers.  All of LLVM's passes together would take as long
    as the rest, and gain little, as the text says what loops share; its "new GVN", which llvmlite
    has, aborts the process for some programs.
    """
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
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        options = llvm.create_pipeline_tuning_options()
        passes.run(module, llvm.create_pass_builder(machine, options))
    engine.finalize_object()
    return engine, engine.get_function_address(name)


# ---- machine code on disk ------------------------------------------------------------------------
#
# FUNCDIFF_CACHE in the environment names a folder; by default nothing is kept.  A file has the name
# of all that its content follows from.  It begins with a digest: what was cut off is not run.


def _place(llvm: Any, *parts: str) -> Path | None:
    """Return the file for the machine code of a text for a processor, if any is to be kept."""
    folder = os.environ.get("FUNCDIFF_CACHE")
    if not folder:
        return None
    told = "\0".join(
        [*parts, ".".join(map(str, llvm.llvm_version_info)), llvm.get_process_triple()]
    )
    return Path(folder) / f"{sha256(told.encode()).hexdigest()}.o"


def _read(place: Path | None) -> bytes | None:
    try:
        content = b"" if place is None else place.read_bytes()
    except OSError:
        return None
    digest, code = content[:32], content[32:]
    return code if code and sha256(code).digest() == digest else None


def _keep(place: Path, code: bytes) -> None:
    """Write a file, whole or not at all, whoever else writes it."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, name = mkstemp(dir=place.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(sha256(code).digest() + code)
        os.replace(name, place)
