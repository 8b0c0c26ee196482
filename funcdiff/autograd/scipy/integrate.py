"""``autograd.scipy.integrate``: `funcdiff.scipy.integrate`."""

from typing import Any

from funcdiff.scipy import integrate


def __getattr__(name: str) -> Any:
    return getattr(integrate, name)


def __dir__() -> list[str]:
    return dir(integrate)
