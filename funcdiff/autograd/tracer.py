"""``autograd.tracer``: boxes, and functions that are not traced."""

from funcdiff.autograd.box_classes import Box, getval, isbox
from funcdiff.autograd.extend import notrace_primitive, primitive
from funcdiff.autograd.names import attributes

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]

__getattr__, __dir__ = attributes(
    __name__,
    absent={
        "Node trace trace_stack TraceStack": "fd.trace(f)(x) returns the program of a call.",
        "new_box box_types box_type_mappings find_top_boxed_args trace_primitives_map": (
            "There are no boxes to make."
        ),
        "register_notrace notrace_primitives": "Use notrace_primitive.",
    },
)
