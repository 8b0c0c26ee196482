"""``autograd.scipy.special``: `funcdiff.scipy.special`."""

from typing import Any

from funcdiff.scipy import special


def __getattr__(name: str) -> Any:
    return getattr(special, name)


def __dir__() -> list[str]:
    return dir(special)
