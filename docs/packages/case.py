"""A case: a function of a package, called as its users call it, of one array that varies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Call = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """A function of a package, its arguments, and the point at which it is differentiated.

    `call(module, *also, x)` calls it with the modules, the originals or adapted ones, and with `x`,
    a number or an array of float64, in the place of the arguments that vary.
    """

    module: str
    name: str
    call: Call
    at: Any
    also: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """The package that has to be installed, by the name under which it is imported."""
        return self.module.partition(".")[0]

    @property
    def title(self) -> str:
        """The function with its module, as the table shows it."""
        return f"{self.module}.{self.name}"

    def point(self, moved: float = 0.0) -> Any:
        """Return the point, a Python float or a new array, or one near it, not a multiple of it."""
        if isinstance(self.at, float):
            return self.at * (1.0 + moved)
        at = np.array(self.at, np.float64)
        return at * (1.0 + moved * np.linspace(1.0, 2.0, at.size).reshape(at.shape))

    def function(self, modules: Callable[[str], Any]) -> Callable[[Any], Any]:
        """Return the function of the array alone, with the modules as something loads them."""
        loaded = [modules(name) for name in (self.module, *self.also)]
        return lambda x: self.call(*loaded, x)


def case(
    module: str, at: Any, name: str = "", *, also: tuple[str, ...] = ()
) -> Callable[[Call], Case]:
    """Make a case of a function of a module and a point; its name is the name in the package."""

    def made(call: Call) -> Case:
        return Case(module, name or call.__name__, call, at, also)

    return made
