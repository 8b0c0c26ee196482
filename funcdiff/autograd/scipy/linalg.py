"""``autograd.scipy.linalg``: `funcdiff.scipy.linalg`."""

from typing import Any

from funcdiff.scipy import linalg


def __getattr__(name: str) -> Any:
    return getattr(linalg, name)


def __dir__() -> list[str]:
    return dir(linalg)
