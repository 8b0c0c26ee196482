"""Whether arrays share memory, as far as that is known of traced ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeAlias

import numpy as np

from funcdiff.core.tracer import Tracer
from funcdiff.errors import UnsupportedNumPyError, user_location
from funcdiff.numpy.border.dispatch import implements
from funcdiff.numpy.memory.regions import NDArray
from funcdiff.numpy.memory.views import find_layout, locate, memory

Question: TypeAlias = Callable[[NDArray, NDArray], bool]


_KNOWN: Final = (Tracer, np.ndarray, np.generic, int, float, complex, list, tuple)
"""What is traced, and what has memory of its own."""


def _answers(function: Question) -> None:
    @implements(function)
    @wraps(function)
    def ours(a: Any, b: Any, /, max_work: Any = None) -> bool:
        for x in (a, b):
            if not isinstance(x, _KNOWN):
                raise UnsupportedNumPyError(
                    f"np.{function.__name__} of a traced array and of an object, "
                    f"{type(x).__name__}, at {user_location()}: whether that looks at the traced "
                    "array is not known. Give it the array itself."
                )
        is_array = [isinstance(x, Tracer) and isinstance(x, np.ndarray) for x in (a, b)]
        return all(is_array) and _share(function, a, b)


_answers(np.may_share_memory)
_answers(np.shares_memory)


def _share(question: Question, x: Tracer, y: Tracer) -> bool:
    if _owner(x) is not _owner(y):
        return False
    root = locate(x).root
    if root is not locate(y).root:
        if question is np.may_share_memory:
            return True
        raise UnsupportedNumPyError(
            f"np.shares_memory of views whose places are traced, at {user_location()}: whether "
            "they overlap is not known. Use np.may_share_memory."
        )
    pairs = zip(locate(x).models, locate(y).models, strict=True)
    answers = {bool(question(*pair)) for pair in pairs}
    if len(answers) > 1:
        find_layout(root)
        return _share(question, x, y)
    return answers.pop()


def _owner(x: Tracer) -> Tracer:
    """Return the array whose memory `x` looks into, at traced places or others."""
    root = locate(x).root
    record = memory(root)
    return root if record.write is None or record.base is None else _owner(record.base)
