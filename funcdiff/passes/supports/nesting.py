"""Propagates supports through equations that hold programs: branches, loops, checkpoints.

Such an equation is extended: it takes the supports of its linear operands as further operands,
which its programs use as masks, and gives those of its results as further results.  What is
recorded of that is a restriction, to the results proper or, once they are needed, to the supports;
what neither needs falls away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from funcdiff.core.builder import bind
from funcdiff.core.primitive import Params
from funcdiff.core.program import Equation
from funcdiff.core.tracer import Tracer
from funcdiff.ops.control.checkpoint import Checkpoint
from funcdiff.ops.control.cond import Cond
from funcdiff.ops.control.restricted_loops import restrict_scan, restrict_while
from funcdiff.ops.control.scan import Scan
from funcdiff.ops.control.sweeps import While
from funcdiff.passes.supports import branches, loops
from funcdiff.passes.supports.propagation import Supports
from funcdiff.passes.supports.support import Support
from funcdiff.passes.supports.with_supports import Call, Extended, Restricted, Simplify
from funcdiff.transforms.jvp import Mask

_EXTENSIONS: Final[dict[type[Params], Callable[[Any, Call, Simplify], Extended]]] = {
    Cond: branches.extend_cond,
    Checkpoint: branches.extend_checkpoint,
    Scan: loops.extend_scan,
    While: loops.extend_while,
}
_RESTRICTIONS: Final[dict[type[Params], Callable[[Any, list[int]], Restricted]]] = {
    Cond: branches.restrict_cond,
    Checkpoint: branches.restrict_checkpoint,
    Scan: restrict_scan,
    While: restrict_while,
}


def emit_nested(
    supports: Supports, eq: Equation, xs: Sequence[Tracer], linear: Mask, simplify: Simplify
) -> list[Tracer] | None:
    """Record an equation that holds programs linear in the marked operands; None for others.

    The supports of its results are recorded as an equation of their own, once they are needed.
    """
    extend = _EXTENSIONS.get(type(eq.params))
    if extend is None:
        return None
    call = Call(eq.params, list(xs), linear, [supports.resolve(x) for x in xs])
    full = extend(eq.params, call, simplify)
    if len(full.operands) == len(xs) and not any(k is not None for k in full.supports):
        return list(bind(eq.primitive, full.params, *xs))
    restrict = _RESTRICTIONS[type(eq.params)]
    params, places, results = restrict(full.params, full.results)
    operands = [full.operands[k] for k in places]
    known = [supports.record(x) if isinstance(x, Support) else x for x in operands]
    found = bind(eq.primitive, params, *known)
    ys = [found[k] for k in results]
    noted = [(y, k) for y, k in zip(ys, full.supports, strict=True) if k is not None]
    if noted:
        params, places, results = restrict(full.params, [k for _, k in noted])
        operands = [full.operands[k] for k in places]
        for (y, _), place in zip(noted, results, strict=True):
            supports.assume(y, Support(eq.primitive, params, operands, place))
    return ys
