"""The table of SciPy's functions that traced arrays know, by module and name, and its namespaces.

A namespace has SciPy's names.  A covered function is ours where something is traced and SciPy's own
otherwise; every other function is SciPy's, and refuses traced arrays with a reason and a cure.
"""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial, wraps
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from types import ModuleType
from typing import Any, Final, TypeVar, cast

import numpy as np

from funcdiff.core.recording.builder import current_builder
from funcdiff.core.tracer import Tracer
from funcdiff.errors import MissingDependencyError, UnsupportedNumPyError, user_location
from funcdiff.numpy.border.values import is_traced
from funcdiff.numpy.creation.construction import array
from funcdiff.scipy.places import EARLIER, missing, place

F = TypeVar("F", bound=Callable[..., Any])

table: Final[dict[str, dict[str, Any]]] = {}
"""Module of SciPy's -> name -> ours, which is SciPy's own where nothing is traced."""

notes: Final[dict[tuple[str, str], str]] = {}
"""(Module, name) -> what the page of coverage says of it: what has no derivative, and where."""

refused: Final[dict[str, dict[str, str]]] = {}
"""Module -> name -> why it takes no traced array, and what to write instead: two sentences."""

opened: Final[dict[str, str]] = {}
"""Modules of SciPy's that have a namespace -> its name."""


class Holder:
    """An object of ours that stands for one of SciPy's and may hold traced arrays."""


# ---- the table -----------------------------------------------------------------------------------


def covers(
    module: str, *names: str, note: str = "", closures: bool = False, joins: bool = True
) -> Callable[[F], F]:
    """Enter the decorated function as what functions of SciPy's do where something is traced.

    Lists and tuples of traced numbers among its arguments are joined to arrays.

    `module`: where they are: ``"scipy.linalg"``, or a private module with compiled code.
    `*names`: by default the name of the function.
    `note`: a sentence for the page of coverage: what has no derivative, which keyword is refused.
    `closures`: whether its arguments are functions, which may close over traced arrays: ours is
      called whenever something is being traced.  Tuples stay as they are, and so does `args`: they
      hold the arguments of these functions.
    `joins`: whether tuples of traced numbers are joined; where they hold several arrays, not so.
    """

    def enter(function: F) -> F:
        for name in names or (function.__name__,):
            chosen = _choose(module, name, function, closures=closures, joins=joins)
            cover(module, name, chosen, note=note)
        return cast(F, chosen)

    return enter


def cover(module: str, name: str, found: Any, *, note: str = "") -> None:
    """Enter a function or class that is right for plain arrays, too, as it is."""
    table.setdefault(module, {})[name] = found
    if module in EARLIER:
        table.setdefault(EARLIER[module], {})[name] = found
    if note:
        notes[module, name] = note


def _lacking(module: str, name: str, why: Exception) -> MissingDependencyError:
    named = " of a traced array: " in str(why)
    return MissingDependencyError(
        str(why) if named else f"{module.partition('._')[0]}.{name} of a traced array: {why}"
    )


def _disable(module: str, name: str, why: Exception) -> Any:
    """Return what takes no traced array, since this version of SciPy lacks a part of it.

    Of a class or an object that is SciPy's own, whose methods name the reason: see `cure`.
    """
    plain = getattr(load(module), name, None)
    if not (inspect.isroutine(plain) or isinstance(plain, np.ufunc)):
        return plain

    def refuse(*args: Any, **kwargs: Any) -> Any:
        if holds_traced(args) or holds_traced(kwargs):
            raise _lacking(module, name, why)
        return plain(*args, **kwargs)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _choose(
    module: str,
    name: str,
    ours: Callable[..., Any],
    *,
    closures: bool,
    joins: bool,
    plain: Any = None,
) -> Any:
    """Return a function that is SciPy's where nothing is traced: `plain`, or the public one."""

    @wraps(ours)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if current_builder() is None or not (
            closures or holds_traced(args) or holds_traced(kwargs)
        ):
            return (plain or place(module, name, user=f"{module.partition('._')[0]}.{name}"))(
                *args, **kwargs
            )
        kinds = (list, tuple) if joins and not closures else (list,)
        named = {k: v if k == "args" else _join(v, kinds) for k, v in kwargs.items()}
        further = _place_of_args(load(module, name), name) if closures else None
        given = [x if k == further else _join(x, kinds) for k, x in enumerate(args)]
        try:
            return ours(*given, **named)
        except MissingDependencyError as why:
            raise _lacking(module, name, why) from None

    wrapper.__name__ = wrapper.__qualname__ = name
    vars(wrapper)["for_code"] = partial(_choose, module, name, ours, closures=closures, joins=joins)
    return wrapper


@cache
def _place_of_args(module: ModuleType, name: str) -> int | None:
    """Return at which position a function takes further arguments of functions, if it does."""
    names = list(signature(getattr(module, name)).parameters)
    return names.index("args") if "args" in names else None


def holds_traced(value: Any) -> bool:
    """Return whether a value is traced, or a container or an object of ours that may hold such."""
    if isinstance(value, list | tuple):
        return any(map(holds_traced, value))
    if isinstance(value, Mapping):
        return any(map(holds_traced, value.values()))
    return isinstance(value, Tracer | Holder)


def _join(value: Any, kinds: tuple[type, ...]) -> Any:
    joins = type(value) in kinds and is_traced(value) and _is_regular(value)
    return array(value) if joins else value


def _is_regular(value: Any) -> bool:
    """Return whether nested lists can be an array of numbers."""
    try:
        array(value)
    except (TypeError, ValueError):
        return False
    return True


def load(module: str, name: str = "") -> ModuleType:
    """Return a module of SciPy's, of which something of that name is wanted.

    Raises
    ------
    MissingDependencyError
        If SciPy is not installed, or does not have it: see `places`.
    """
    public = module.partition("._")[0]
    found: ModuleType = place(module, user=".".join(filter(None, (public, name))))
    return found


def replacement_of(plain: Any) -> Any:
    """Return what stands for a function or class of SciPy's where something is traced, or None."""
    _open(str(getattr(plain, "__module__", "")))
    name = str(getattr(plain, "__name__", None)).removeprefix("function ")  # as f2py has it
    for module, known in table.items():
        theirs = getattr(sys.modules.get(module), name, None) if name in known else None
        if theirs is not None and plain is theirs:
            return known[name]
        if theirs is not None and plain is without_delegation(theirs):  # the public one takes less
            for_code = getattr(known[name], "for_code", None)
            return known[name] if for_code is None else for_code(plain=plain)
    return None


def without_delegation(plain: Any) -> Any:
    """Return what SciPy's own code calls, if with SCIPY_ARRAY_API=1 another is public for it."""
    code = getattr(plain, "__code__", None)
    delegates = code is not None and code.co_filename.endswith("_support_alternative_backends.py")
    return getattr(plain, "__wrapped__", plain) if delegates else plain


def _open(module: str) -> None:
    """Import the namespaces around a module of SciPy's, which fill the table."""
    parts = module.split(".")
    for end in range(2, len(parts) + 1):
        ours = ".".join(["funcdiff", *parts[:end]])
        if ours not in sys.modules and parts[0] == "scipy":
            with suppress(ModuleNotFoundError):
                import_module(ours)


# ---- namespaces ----------------------------------------------------------------------------------


class UncoveredNameError(UnsupportedNumPyError, AttributeError):
    """A name was asked of `funcdiff.scipy` that neither it nor SciPy has."""


def namespace(
    module: str, uncovered: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of the module of ours that stands for one of SciPy's.

    `module`: ``"scipy.linalg"``, say.
    `uncovered`: names, with spaces between, -> why these functions and classes take no traced
      array, and what to write instead: two sentences.
    """
    ours = module.replace("scipy", "funcdiff.scipy", 1)
    opened[module] = ours
    table.setdefault(module, {})
    reasons = (uncovered or {}).items()
    refused[module] = {name: why for names, why in reasons for name in names.split()}

    def get(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        found = table[module].get(name)
        why = missing.get((module, name))
        if why is not None:
            found = _disable(module, name, why)
        if found is None:
            plain = load(module)
            if not hasattr(plain, name):
                raise _missing(module, name)
            found = _pass_through(module, name, getattr(plain, name))
        setattr(sys.modules[ours], name, found)
        return found

    def names() -> list[str]:
        return sorted({*public_names(load(module)), *public(table[module])})

    return get, names


def public(names: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names without an underscore in front."""
    return (name for name in names if not name.startswith("_"))


def public_names(module: ModuleType) -> list[str]:
    """Return the public names of a module of SciPy's."""
    return sorted(getattr(module, "__all__", None) or public(vars(module)))


def _missing(module: str, name: str) -> AttributeError:
    near = difflib.get_close_matches(name, public_names(load(module)), n=3, cutoff=0.6)
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return UncoveredNameError(
        f"{opened[module]} has no attribute {name!r}, nor has {module}.{hint}"
    )


def _pass_through(module: str, name: str, plain: Any) -> Any:
    """Return what is not covered: SciPy's own, which refuses traced arrays if it is a function."""
    ours = f"{opened[module]}.{name}"
    if isinstance(plain, ModuleType) and find_spec(ours) is not None:
        return import_module(ours)
    refuse = partial(_refuse_traced, module, name)
    if inspect.isroutine(plain) or isinstance(plain, np.ufunc):
        return refuse(plain)
    is_object = name in refused[module] and callable(plain) and not isinstance(plain, type)
    return _Refusing(plain, refuse) if is_object else plain


def _refuse_traced(module: str, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(plain)
    def refusing(*args: Any, **kwargs: Any) -> Any:
        if holds_traced(args) or holds_traced(kwargs):
            raise refusal(module, name)
        return plain(*args, **kwargs)

    return refusing


class _Refusing:
    """An object of SciPy's whose calls and methods refuse traced arrays."""

    def __init__(self, plain: Any, refuse: Callable[..., Any]) -> None:
        vars(self).update(_plain=plain, _refuse=refuse, __doc__=plain.__doc__)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._plain)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._refuse(self._plain.__call__)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._plain, name)
        return self._refuse(found) if inspect.isroutine(found) else found

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._plain, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Refusing, (self._plain, self._refuse)


def refusal(module: str, name: str) -> UnsupportedNumPyError:
    """Return the error of a function of SciPy's that traced arrays do not know."""
    why = refused.get(module, {}).get(name) or (
        "Call it on values that need no derivative, outside the function or on "
        "fd.stop_gradient(x); or declare it with fd.primitive."
    )
    return unsupported(f"{module}.{name}", why)


def unsupported(call: str, cure: str) -> UnsupportedNumPyError:
    """Return the error of a call, with a keyword say, that traced arrays do not know."""
    return UnsupportedNumPyError(
        f"{call} of a traced array is not supported, at {user_location()}. {cure}"
    )


def cure(module: str, name: str, code: str) -> str:
    """Return what to write instead of code that gave SciPy's own function a traced array."""
    ours = module.replace("scipy", "funcdiff.scipy", 1)
    with suppress(ImportError):
        import_module(ours)
    why = refused.get(module, {}).get(name) or missing.get((module, name))
    if why is not None:
        return str(why)
    found = table.get(module, {}).get(name)
    of_class: str | None = getattr(found, "cure", None)
    if of_class is not None:
        return of_class
    if found is not None:
        call = re.search(rf"\b{name}\b.*", code)
        again = f", and {call[0]} as it is" if call else ""
        return f"Use funcdiff's, which takes them: `from {ours} import {name}`{again}."
    return f"Declare {module}.{name} with fd.primitive, or write it with NumPy's functions."
