"""``autograd.tracer``: boxes, and functions that are not traced."""

from funcdiff.autograd.boxes import Box, getval, isbox
from funcdiff.autograd.extend import notrace_primitive, primitive
from funcdiff.autograd.refusals import refusing

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]

__getattr__ = refusing(
    __name__,
    {
        "Node trace trace_stack TraceStack": "fd.trace(f)(x) returns the program of a call.",
        "new_box box_types find_top_boxed_args register_notrace": "There are no boxes to make.",
    },
)
