"""Programs that import autograd, run with funcdiff in its place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

__all__ = ["in_place_of_autograd", "replace_autograd"]

_THEIRS, _OURS = "autograd", "funcdiff.autograd"


class _Finder(MetaPathFinder, Loader):
    """Finds ``autograd.x`` as ``funcdiff.autograd.x``: the same module, under a second name."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        is_theirs = fullname.partition(".")[0] == _THEIRS
        return ModuleSpec(fullname, self) if is_theirs else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        ours = spec.name.replace(_THEIRS, _OURS, 1)
        try:
            module = import_module(ours)
        except ModuleNotFoundError as error:
            if error.name != ours:
                raise
            raise ModuleNotFoundError(
                f"{_OURS} has no module {spec.name.partition('.')[2]!r}, which {_THEIRS} may have",
                name=spec.name,
            ) from None
        for name in [name for name in sys.modules if name.startswith(f"{ours}.")]:
            # or importing them would put modules in the place of what a package has of that name
            sys.modules.setdefault(name.replace(_OURS, _THEIRS, 1), sys.modules[name])
        spec.loader_state = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state  # importing has set the one of the alias


@contextmanager
def in_place_of_autograd() -> Iterator[None]:
    """Let ``import autograd`` mean ``import funcdiff.autograd`` inside a ``with`` block.

    What was imported before, of autograd itself, is what the name means again behind it.

    Examples
    --------
    >>> with in_place_of_autograd():
    ...     import autograd.numpy as np
    ...     from autograd import grad
    >>> grad.__module__
    'funcdiff.autograd.differential_operators'
    >>> print(grad(np.sin)(0.0))
    1.0
    """
    finder = _Finder()
    before = _forget()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _forget()
        sys.modules.update(before)


def replace_autograd() -> None:
    """Let the name mean funcdiff for the rest of this process, also while it is being imported."""
    sys.meta_path.insert(0, _Finder())
    sys.modules[_THEIRS] = import_module(_OURS)


@contextmanager
def for_workers() -> Iterator[None]:
    """Let the name mean funcdiff in processes that are started inside a ``with`` block, too."""
    folder = str(Path(__file__).with_name("workers"))
    path, variable = sys.path[:], os.environ.get("PYTHONPATH")
    sys.path.insert(0, folder)  # which multiprocessing hands on
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (folder, variable)))
    try:
        yield
    finally:
        sys.path[:] = path
        os.environ.pop("PYTHONPATH")
        os.environ |= {} if variable is None else {"PYTHONPATH": variable}


def _forget() -> dict[str, ModuleType]:
    """Remove what is imported under the name, and return it."""
    names = [name for name in sys.modules if name.partition(".")[0] == _THEIRS]
    return {name: sys.modules.pop(name) for name in names}
