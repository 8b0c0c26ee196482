"""Second copies of packages, imported beside the originals, in which code runs on traced arrays.

A copied module is the same source, rewritten (see `rewriting`), in a namespace whose builtins have
another ``__import__``: NumPy, SciPy and `math` are funcdiff's there, and packages that are copied
are found among the copies.  So nothing is patched, neither for other threads nor for the original.

Exceptions and enumerations are not copied: ``except`` and ``is`` mean the same inside and outside.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.util
import re
import sys
import warnings
import zipfile
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import wraps
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

import funcdiff.numpy
from funcdiff.adapting.bytecode import rewritten_module
from funcdiff.adapting.decorators import cache, lru_cache, without_numba
from funcdiff.adapting.mathematics import CMATH, MATH, of_either
from funcdiff.adapting.rewriting import own_name, rewrite
from funcdiff.adapting.runtime import RUNTIME
from funcdiff.adapting.substitutes import Substitute, warn
from funcdiff.adapting.vectorizing import broadcast, frompyfunc, vectorize
from funcdiff.api.calls.repeated import CLOSED, MODULES, is_closed, kind_of
from funcdiff.core.late import late_import, lock_against_forks

when_copied: Final[list[Callable[[ModuleType], None]]] = []
"""What is called with every copy, once it is made."""

_lock: Final = lock_against_forks()
"""Held while a module is copied."""
_copies: Final[dict[str, Any]] = {}
"""Names of modules -> copies, as ``sys.modules`` has originals."""
_originals: Final[dict[str, Any]] = {}
"""Names of modules -> specifications of the originals, of which every reload makes another."""
_unfinished: Final[list[str]] = []
"""Modules whose copies are being made, which only the thread that makes them may see."""
_asked: Final[set[str]] = set()
"""Packages that somebody asked to be adapted, whatever they are made of."""

NEVER: Final = (
    frozenset({"__main__", "array_api_compat", "autograd", "funcdiff", "numpy", "scipy", "xarray"})
    | sys.stdlib_module_names
)
"""Packages that are not copied: those that work on traced arrays, and Python's own."""

_COPIED_OF_NUMPY: Final = ("numpy.polynomial",)
"""What is Python code of NumPy's that converts what it is given."""


def ask_for(package: str) -> None:
    """Let a package be copied, whatever it is made of, and as it is now."""
    if package not in NEVER:
        _asked.add(package)
    _imported.clear()
    _reload(package)


@functools.cache
def _is_numerical(package: str, *around: str) -> bool:
    """Return whether a package is Python code without a compiled part that computes numbers.

    It does so if it imports NumPy, SciPy or `math`, or another package that does so; `around` are
    those that ask.
    """
    spec = None if package in around else importlib.util.find_spec(package)
    if spec is None or (spec.origin is None and not _is_namespace(spec)):
        return False
    archive = getattr(spec.loader, "archive", None)
    root: Any = Path() if archive is None else zipfile.Path(archive)
    paths = [*(spec.submodule_search_locations or (spec.origin,))]
    places = [p if archive is None else p[len(archive) + 1 :] for p in paths]
    files = [file for place in places for file in _files_in(root / place)]
    if any(file.name.endswith(tuple(EXTENSION_SUFFIXES)) for file in files):
        return False
    texts = (f.read_text("utf-8", "replace") for f in files if f.name.endswith(".py"))
    others: set[str] = set()
    for text in texts:
        others.update(_IMPORTS.findall(text))
        if not others.isdisjoint(_COMPUTING):
            return True
    return any(_is_numerical(name, package, *around) for name in sorted(others - NEVER))


def _files_in(place: Any) -> Iterator[Any]:
    """Yield the files in a folder, which may be one of a zip file; of a file that one."""
    if place.is_file():
        yield place
    elif place.is_dir():
        for part in place.iterdir():
            yield from _files_in(part)


_COMPUTING: Final = frozenset({"numpy", "scipy", "math", "cmath"})
_IMPORTS: Final = re.compile(r"^\s*(?:import|from) +(\w+)", re.MULTILINE)


def is_copied(module: str) -> bool:
    """Return whether adapted code that imports a module gets a copy of it."""
    package = module.partition(".")[0]
    if module.startswith(_COPIED_OF_NUMPY):
        return True
    return package not in NEVER and (package in _asked or _is_numerical(package))


def module_for(name: str) -> Any:
    """Return what importing a module gives to adapted code.

    Raises ImportError as importing the original does.
    """
    if name in _SUBSTITUTES:
        return _substitute(name)
    if is_copied(name):
        found = _copies.get(name)
        return _copy_module(name) if found is None or _unfinished else found
    package, *rest = name.split(".")
    plain = import_module(f"funcdiff.{name}" if package == "autograd" else name)
    if package not in ("numpy", "scipy"):
        return plain
    found = _substitute(package)
    for part in rest:
        found = getattr(found, part, None)
    if package == "scipy" and len(rest) > 1 and (found is plain or found is None):
        return _with_covered(plain, f"scipy.{rest[0]}")
    return found if isinstance(found, ModuleType) else plain


@functools.cache
def _with_covered(plain: ModuleType, home: str) -> Substitute:
    """Return a module within a package of SciPy's, in which what the package has, too, is ours."""
    ours, theirs = module_for(home), import_module(home)

    def find(name: str) -> Any:
        if name not in vars(plain) or vars(plain)[name] is not vars(theirs).get(name):
            raise AttributeError(name)
        return getattr(ours, name)

    return Substitute(plain, {}, find)


def _copy_module(name: str) -> Any:
    """Return the copy of a module, made if there is none."""
    with _lock:
        parent, _, child = name.rpartition(".")
        around = module_for(parent) if parent else None
        if name in _copies:  # importing the package has imported it
            return _copies[name]
        original = import_module(name)
        spec = _specification(original, name)
        source = _source(spec)
        if source is None and not _is_namespace(spec):
            return original  # compiled code
        module = Copy(name, original.__doc__)
        _copies[name] = module
        if around is not None:  # where it is looked for while it is imported in a circle
            setattr(around, child, module)
        try:
            _execute(module, original, spec, source)
        except BaseException:
            del _copies[name]
            raise
        if around is not None:
            setattr(around, child, _copies[name])
        return _copies[name]


def _execute(module: ModuleType, original: ModuleType, spec: Any, source: bytes | None) -> None:
    """Execute the code of a module in the namespace of its copy."""
    name = module.__name__
    for attribute in _ATTRIBUTES:
        if hasattr(original, attribute):
            setattr(module, attribute, getattr(original, attribute))
    vars(module)["__builtins__"] = BUILTINS
    _unfinished.append(name)
    try:
        if source is not None:
            exec(rewritten_module(spec.origin, source), vars(module))
    finally:
        _unfinished.remove(name)
    _let_late_names_be_copies(module)
    for finish in when_copied:
        finish(module)
    _originals[name] = getattr(original, "__spec__", None)


def _reload(package: str) -> None:
    """Execute the modules of a package anew whose originals were, as `importlib.reload` does."""
    for name, spec in [*_originals.items()]:
        original, copy = sys.modules.get(name), _copies.get(name)
        if name.partition(".")[0] != package or original is None or not isinstance(copy, Copy):
            continue
        now = getattr(original, "__spec__", None)
        if now is not None and now is not spec:
            with _lock:
                found = _specification(original, name)
                _execute(copy, original, found, _source(found))


class Copy(ModuleType):
    """The copy of a module, which pickle finds by name."""

    def __getattr__(self, name: str) -> Any:
        """Return a module within, which somebody else has imported."""
        if f"{self.__name__}.{name}" not in sys.modules:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return module_for(f"{self.__name__}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Put something else in the place of a name, wherever the code uses it."""
        super().__setattr__(name, value)
        if own_name(name) in vars(self):
            super().__setattr__(own_name(name), value)

    def __reduce__(self) -> Any:
        return copy_of, (self.__name__,)


MODULES.add(Copy)


def copy_of(name: str) -> Any:
    """Return the copy of a module, whatever its package is made of."""
    ask_for(name.partition(".")[0])
    return module_for(name)


_ATTRIBUTES: Final = ("__spec__", "__loader__", "__package__", "__path__", "__file__", "__cached__")


def _specification(original: ModuleType, name: str) -> Any:
    """Return the specification of a module, which may have written that of another over it."""
    written = getattr(original, "__spec__", None)
    if written is not None and written.name == name:
        return written
    parent = sys.modules.get(name.rpartition(".")[0])
    found = (f.find_spec(name, getattr(parent, "__path__", None)) for f in sys.meta_path)
    return next(filter(None, found), written)


def _source(spec: Any) -> bytes | None:
    """Return the text of a module, or None if it has none."""
    file = getattr(spec, "origin", None) or ""
    if not file.endswith(".py") or not hasattr(spec.loader, "get_data"):
        return None
    return spec.loader.get_data(file)  # type: ignore[no-any-return]


def _is_namespace(spec: Any) -> bool:
    return spec is not None and spec.origin is None and spec.submodule_search_locations is not None


def _let_late_names_be_copies(module: ModuleType) -> None:
    """Let what a module's ``__getattr__`` imports by another package's help be a copy, too."""
    find = vars(module).get("__getattr__")
    if find is not None:
        vars(module)["__getattr__"] = wraps(find)(lambda name: counterpart(find(name)))


def run_script(file: Path) -> None:
    """Run a script, adapted, as the module ``__main__``."""
    module = ModuleType("__main__")
    vars(module).update(__builtins__=BUILTINS, __file__=str(file))
    sys.modules["__main__"] = module
    exec(rewrite(file.read_bytes(), str(file)), vars(module))


# ---- what adapted code finds in the place of Python's own ----------------------------------------


def _import(
    name: str,
    scope: Mapping[str, Any] | None = None,
    _local: Any = None,
    fromlist: Iterable[str] | None = (),
    level: int = 0,
) -> Any:
    """Do what ``import`` does, with the copies in front of all modules."""
    names = scope or {}
    package: str | None = (names.get("__package__") or names["__name__"]) if level else None
    parts = None if fromlist is None else tuple(fromlist)
    key = name, parts, package, level
    if key in _imported and not _unfinished:
        return _imported[key]
    if level:
        name = importlib.util.resolve_name("." * level + name, package)
    root = name.partition(".")[0]
    if root not in _SUBSTITUTES and root != "autograd" and not is_copied(name):
        return builtins.__import__(name, scope, None, parts or ())
    found = _import_ours(name, parts)
    if not _unfinished:
        _imported[key] = found
    return found


_imported: Final[dict[Any, Any]] = {}
"""What ``import`` gave for copies and substitutes, which nobody takes out of their tables."""


def _import_ours(name: str, fromlist: Iterable[str] | None) -> Any:
    """Import what is a copy or a substitute."""
    module = module_for(name)
    if not fromlist:
        return module_for(name.partition(".")[0])
    if hasattr(module, "__path__"):
        wanted = [*fromlist]
        if "*" in wanted:
            wanted += getattr(module, "__all__", ())
        for part in wanted:
            if part != "*" and not hasattr(module, part):
                try:
                    module_for(f"{name}.{part}")
                except ModuleNotFoundError as error:
                    if error.name != f"{name}.{part}":
                        raise
    return module


def _import_module(name: str, package: str | None = None) -> Any:
    return module_for(importlib.util.resolve_name(name, package))


def _share(found: Any) -> Any:
    """Return a class that was made; of an exception or an enumeration the original."""
    if isinstance(found, type) and issubclass(found, BaseException | Enum):
        original = follow(sys.modules.get(found.__module__), found.__qualname__)
        if isinstance(original, type) and issubclass(original, BaseException | Enum):
            return original
    return found


_OF_DATA: Final = frozenset({
    "numpy", "numpy.fft", "numpy.linalg", "scipy", "scipy.fft", "scipy.integrate", "scipy.linalg",
    "scipy.optimize", "scipy.special", "math", "cmath",
})  # fmt: skip
"""Modules whose functions give numbers, and nothing that computes later, in a trace."""


def _own(found: Any) -> Any:
    """Return what an imported thing is in code that meets no traced values."""
    return (_own_of_kept if type(found) in _KEPT else _find_own)(found)


_KEPT: Final = frozenset({FunctionType, BuiltinFunctionType, np.ufunc, Substitute})
"""Kinds of things that are equal only if they are the same."""


def _find_own(found: Any) -> Any:
    """Look for what an imported thing is in code that meets no traced values."""
    if isinstance(found, ModuleType):
        name = found.__name__.removeprefix("funcdiff.")
        return _own_module(name) if name in _OF_DATA and found is module_for(name) else found
    name, module = getattr(found, "__name__", ""), getattr(found, "__module__", None) or ""
    root, *parts = module.removeprefix("funcdiff.").split(".")
    for home in (root, ".".join([root, *parts[:1]]), f"{root}.linalg", f"{root}.fft"):
        is_there = home in _OF_DATA and name in vars(import_module(home))
        if is_there and getattr(module_for(home), name, None) is found:
            return getattr(_own_module(home), name)
    return found


_own_of_kept: Final = functools.lru_cache(maxsize=4096)(_find_own)


@functools.cache
def _own_module(name: str) -> ModuleType:
    """Return a module with the functions that a module has itself, and all else that we have."""
    ours, theirs, module = module_for(name), import_module(name), ModuleType(name)

    def find(part: str) -> Any:
        found, plain = getattr(ours, part), getattr(theirs, part, None)
        if f"{name}.{part}" in _OF_DATA:
            found = _own_module(f"{name}.{part}")
        elif all(callable(f) and not isinstance(f, type) for f in (found, plain)):
            if is_closed(found, kind_of(found)):
                CLOSED.add(plain)
            found = plain
        if part in vars(theirs):  # and not deprecated, which is said each time
            setattr(module, part, found)
        return found

    if name in sys.stdlib_module_names:  # few, and Python looks up names faster where all are there
        for part in vars(theirs):
            find(part)
    else:
        vars(module)["__getattr__"] = find
    return module


BUILTINS: Final[dict[str, Any]] = {
    **vars(builtins),
    **RUNTIME,
    "__import__": _import,
    "__funcdiff_own__": _own,
    "__funcdiff_shared__": _share,
}
"""What adapted code finds as built-in names."""


def _of_numpy(name: str) -> Any:
    """Return what a name of NumPy's stands for.

    A function that NumPy has compiled is no method where a class has it as an attribute.
    """
    if f"numpy.{name}" in _COPIED_OF_NUMPY:
        return module_for(f"numpy.{name}")
    found, plain = getattr(funcdiff.numpy, name), getattr(np, name)
    was_function = isinstance(plain, FunctionType) or found is plain
    return found if was_function or not isinstance(found, FunctionType) else staticmethod(found)


def _bottleneck(name: str) -> Any:
    """Return a function of the package bottleneck, of which traced arrays get NumPy's."""
    plain, numpys = getattr(import_module("bottleneck"), name), getattr(np, name, None)
    return plain if numpys is None else of_either(plain)(numpys)


_SUBSTITUTES: Final[dict[str, Callable[[], Any]]] = {
    "bottleneck": lambda: Substitute(import_module("bottleneck"), {}, _bottleneck),
    "cmath": lambda: CMATH,
    "functools": lambda: Substitute(functools, {"lru_cache": lru_cache, "cache": cache}),
    "importlib": lambda: Substitute(importlib, {"import_module": _import_module}),
    "math": lambda: MATH,
    "numba": lambda: without_numba(import_module("numba")),
    "numpy": lambda: Substitute(
        np, {f.__name__: f for f in (broadcast, frompyfunc, vectorize)}, _of_numpy
    ),
    "scipy": lambda: Substitute(
        import_module("scipy"), {}, late_import("funcdiff.scipy").__getattr__
    ),
    "warnings": lambda: Substitute(warnings, {"warn": warn}),
    "sys": lambda: Substitute(
        sys,
        {name: x for name, x in vars(sys).items() if isinstance(x, tuple)}  # as version_info
        | {"modules": ChainMap(_copies, sys.modules)},
    ),
}


@functools.cache
def _substitute(name: str) -> Any:
    return _SUBSTITUTES[name]()


# ---- from an original to its copy ----------------------------------------------------------------


def counterpart(plain: Any) -> Any:
    """Return what an object of an original module is among the copies; others as they are.

    It is looked for by its own name, and then under every name of its module.
    """
    if isinstance(plain, ModuleType):  # others are somebody's own, made by hand
        return module_for(plain.__name__) if sys.modules.get(plain.__name__) is plain else plain
    path = path_of(plain)
    if path is None or not has_copy(plain.__module__):
        return plain
    return follow(module_for(plain.__module__), path)


def has_copy(module: str) -> bool:
    """Return whether something else stands for a module in adapted code."""
    return is_copied(module) or module.partition(".")[0] in _COMPUTING


def path_of(plain: Any) -> str | None:
    """Return the name under which its module has an object, dotted within classes, if it has it."""
    name = getattr(plain, "__module__", None)
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None:
        return None
    own = getattr(plain, "__qualname__", "")
    found = follow(module, own) if own else None
    if found is plain or (isinstance(found, MethodType) and found == plain):
        return str(own)
    return next((name for name, value in vars(module).items() if value is plain), None)


def follow(module: Any, path: str) -> Any:
    """Return what a module has under a dotted name, or None."""
    found = module
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
