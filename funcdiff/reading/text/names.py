"""Chooses unique names for the variables of a text: from the code, or a short word."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from typing import Final

_MODULES: Final = ("np", "scipy", "math", "jax", "jnp", "torch", "cupy")
_TAKEN: Final = frozenset({*_MODULES, *keyword.kwlist, *dir(builtins)})


class Names:
    """The names of a module, or those of a function in it.

    Functions may have the same names, but not those of the module.

    >>> names = Names()
    >>> [names.new(word) for word in ("w", "w", "lambda", "params['w']")]
    ['w', 'w_2', 'lambda_', 'params_w']
    >>> names.scope().new("w")
    'w_3'
    """

    def __init__(self, module: Names | None = None) -> None:
        self._own: set[str] = set()
        self._others: set[str] = set() if module is None else module._own
        self._all: set[str] = set() if module is None else module._others

    def new(self, wanted: str) -> str:
        """Return a name that nothing else has, the wanted one if it is free."""
        found = free(wanted, self._own | self._others)
        self.reserve(found)
        return found

    def import_name(self, word: str) -> str:
        """Return a name for something that is imported: its own, if nothing else has it."""
        return self.new(word) if word in self._own | self._others else self.reserve(word)

    def reserve(self, word: str) -> str:
        """Take a name, that of a parameter."""
        self._own.add(word)
        self._all.add(word)
        return word

    def scope(self) -> Names:
        """Return the names of a function of the module."""
        return Names(self)


def identifier(text: str) -> str:
    """Return a text as an identifier, in the form in which Python knows it.

    >>> identifier("params['w']"), identifier("3d"), identifier("x\u00b2"), identifier("\ufb01t")
    ('params_w', 'value_3d', 'x2', 'fit')
    """
    normal = unicodedata.normalize("NFKC", text)
    allowed = "".join(sign if f"_{sign}".isidentifier() else " " for sign in normal)
    plain = re.sub(r" +", "_", allowed).replace("__", "_").rstrip("_")
    if not plain:
        return "value"
    return plain if plain.isidentifier() else f"value_{plain}"


def is_builtin(word: str) -> bool:
    """Whether Python gives a name a meaning, which the text may rely upon."""
    return hasattr(builtins, word)


def is_plain(text: str) -> bool:
    """Whether a text stands for itself as a name: Python neither refuses nor changes it."""
    normal = unicodedata.normalize("NFKC", text)
    return text.isidentifier() and not keyword.iskeyword(text) and normal == text


def free(wanted: str, given: set[str]) -> str:
    """Return a name that is none of those given, the wanted one if it is free."""
    plain = identifier(wanted)
    if plain in _TAKEN:
        plain += "_"
    found, count = plain, 2
    while found in given:
        found, count = f"{plain}_{count}", count + 1
    return found


SHORT_WORDS: Final = {
    "add": "t", "sub": "difference", "mul": "product", "div": "ratio", "neg": "t",
    "contract": "product", "reduce_sum": "total", "reduce_max": "largest",
    "reduce_min": "smallest", "select": "chosen", "less": "mask", "less_equal": "mask",
    "greater": "mask", "greater_equal": "mask", "equal": "mask", "not_equal": "mask",
    "logical_and": "mask", "logical_or": "mask", "logical_not": "mask", "broadcast": "spread",
    "reshape": "t", "permute": "t", "slice": "part", "gather": "part", "concatenate": "joined",
    "convert": "t", "svd": "t", "eigh": "t",
}  # fmt: skip
"""Short names for results of operations that the user gave none."""
