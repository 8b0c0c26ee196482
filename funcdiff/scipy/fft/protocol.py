"""How plain ``scipy.fft`` reaches traced arrays: a backend that answers for them alone.

The functions of ``scipy.fft`` ask backends, in the protocol of uarray, before they compute.  Ours
is registered by the first trace that finds ``scipy.fft`` imported.  It declines every call without
a traced argument, within a microsecond, and backends that the user sets are asked before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from funcdiff.scipy.covered import holds_traced, load, table


class TracedBackend:
    """A backend of ``scipy.fft`` for traced arrays."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        ours = table["scipy.fft"].get(method.__name__)
        if ours is None or not (holds_traced(args) or holds_traced(kwargs)):
            return NotImplemented
        return ours(*args, **kwargs)


load("scipy.fft").register_backend(TracedBackend)
