"""``autograd.builtins``: the built-in containers, which hold traced values as they are."""

import builtins
from typing import Any

from funcdiff.autograd.box_classes import Box, DictBox, SequenceBox
from funcdiff.autograd.extend import notrace_primitive, primitive
from funcdiff.autograd.names import attributes
from funcdiff.autograd.spaces import VSpace, vspace
from funcdiff.autograd.util import subvals

dict, isinstance, list, tuple = builtins.dict, builtins.isinstance, builtins.list, builtins.tuple

__all__ = [
    "Box",
    "DictBox",
    "SequenceBox",
    "VSpace",
    "dict",
    "isinstance",
    "list",
    "notrace_primitive",
    "primitive",
    "subvals",
    "tuple",
    "type",
    "vspace",
]


def type(x: Any) -> Any:
    """Return the class of a value; of a traced one, the class of what it stands for."""
    return x.__class__


__getattr__, __dir__ = attributes(
    __name__,
    absent={
        "container_take make_sequence ContainerVSpace SequenceVSpace ListVSpace TupleVSpace "
        "DictVSpace NamedTupleVSpace SparseObject": (
            "Containers of traced values are Python's own; their vector space is vspace(x)."
        )
    },
)
