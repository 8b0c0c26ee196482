"""Functions, classes and methods of SciPy's that are covered by their own, borrowed code."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import funcdiff.numpy
from funcdiff.core.builder import current_builder
from funcdiff.numpy.border.promotion import array
from funcdiff.scipy.borrowed import copy_of
from funcdiff.scipy.covered import Holder, cover, covers, holds_traced, load, without_delegation
from funcdiff.scipy.equalities import run_watched
from funcdiff.scipy.places import place, requirements_of

F = TypeVar("F", bound=Callable[..., Any])


def borrow_functions(
    module: str,
    names: str,
    *,
    code: str = "",
    note: str = "",
    closures: bool = False,
    read: int | None = None,
) -> None:
    """Cover functions of SciPy's by their own code.

    Parameters
    ----------
    module
        ``"scipy.linalg"``, say.
    names
        With spaces between; those that the installed version does not have are passed over.
    code
        Where their code is, if what is public only hands over to it.
    note, closures
        As in `covers`.
    read
        Which argument is a table whose entries their code reads at traced places.
    """
    for name in names.split():
        plain = getattr(load(code or module), name, None)
        if plain is not None:
            call = _call_borrowed if read is None else partial(_call_with_table, read)
            ours = wraps(plain)(partial(call, without_delegation(plain)))
            covers(module, name, note=note, closures=closures)(ours)


def _call_borrowed(plain: Any, *args: Any, **kwargs: Any) -> Any:
    return run_watched(partial(copy_of(plain), *args, **kwargs))


def _call_with_table(place: int, plain: Any, *args: Any, **kwargs: Any) -> Any:
    given = list(args)
    given[place : place + 1] = map(array, map(funcdiff.numpy.asarray, given[place : place + 1]))
    return _call_borrowed(plain, *given, **kwargs)


def borrow_classes(module: str, names: str, *, note: str = "") -> None:
    """Cover classes of SciPy's: theirs, with methods that take traced arrays.

    A function that returns an object of such a class is also given here: what it makes of plain
    arrays can then be called with traced ones.
    """
    for name in names.split():
        plain = getattr(load(module), name, None)
        if plain is not None:
            cover(module, name, copy_of(plain), note=note)


def cover_choice(module: str, name: str, chosen: str) -> None:
    """Let what chooses a class by the array library, if there is such, choose NumPy's."""
    if hasattr(load(module), name):
        cover(module, name, lambda _library: (copy_of(place(module, chosen)), funcdiff.numpy))


def method_of(
    module: str, owner: str, *, always: bool = False, fills: bool = False
) -> Callable[[F], F]:
    """Enter the decorated function as what a method of a borrowed class does with traced arrays.

    Where neither the object nor the arguments are traced, the method is SciPy's, unless it is to
    be `always` ours while something else is traced.  One that `fills` an array by compiled code is
    then not even borrowed, so that the array is NumPy's.
    """

    def enter(method: F) -> F:
        with requirements_of(module.partition("._")[0], owner.lstrip("_")):
            attach(method)
        return method

    def attach(method: F) -> None:
        theirs = place(module, owner)
        kind = copy_of(theirs)
        name = method.__name__
        place(theirs.__module__, f"{theirs.__name__}.{name}")
        plain = getattr(theirs if fills else kind, name)
        is_static = isinstance(vars(kind).get(name), staticmethod)

        @wraps(plain)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = [*args[0 if is_static else 1 :], *kwargs.values()]
            traced = always or holds_traced(given) or not (is_static or _is_plain(args[0]))
            is_ours = current_builder() is not None and traced
            return (method if is_ours else plain)(*args, **kwargs)

        setattr(kind, name, staticmethod(wrapper) if is_static else wrapper)

    return enter


def _is_plain(holder: Any) -> bool:
    """Return whether no attribute of an object is traced."""
    slots = {n for kind in type(holder).__mro__ for n in getattr(kind, "__slots__", ())}
    held = [*vars(holder).values(), *(getattr(holder, name, 0) for name in slots)]
    rest = [x for x in held if not isinstance(x, Holder)]
    return not holds_traced(rest) and all(_is_plain(x) for x in held if isinstance(x, Holder))
