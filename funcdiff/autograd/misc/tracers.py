"""``autograd.misc.tracers``: a function that is traced once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from funcdiff.api.jit import jit
from funcdiff.autograd.names import attributes


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Return a function that is traced once, with some of its arguments given: `funcdiff.jit`.

    Parameters
    ----------
    fun
        Function of `args` and of those of each call.
    *args, **kwargs
        Its first arguments, and keywords.
    """
    return jit(functools.partial(fun, *args, **kwargs))


__getattr__, __dir__ = attributes(
    __name__,
    absent={
        "full_graph FullGraphNode ConstGraphNode": "fd.trace(f)(x) returns the program of a call."
    },
)
