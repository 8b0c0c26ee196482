"""Evaluates operations that may raise at once, where traced code could catch the exception.

Where there are no values, whether it raises is a decision like the outcome of an ``if``.
"""

from __future__ import annotations

from funcdiff.core.builder import Builder
from funcdiff.core.catching import may_be_caught
from funcdiff.core.decisions import decided
from funcdiff.core.primitive import Operation, operation
from funcdiff.errors import ConcreteValueError, user_location
from funcdiff.numpy.border.swallowing import remember
from funcdiff.ops.user.failing import KINDS, Fails, fails_p, program_of_operation


def attempt(builder: Builder, number: int) -> int:
    """Let the last equation, which may raise, do so now if somebody may catch that.

    Return the number of its first result, which may have become another one.
    """
    policy = builder.policy
    if policy.closed or policy.hoists:
        return number
    is_nested = builder.parent is not None
    if not may_be_caught(is_nested=is_nested, by_with=True):
        return number
    op, *refs = builder.entries[number]
    assert isinstance(op, Operation)
    if op.calls_user and is_nested:  # bodies and rules hold one call of the user's several times
        return number
    try:
        for ref in refs:
            builder.value(ref)
    except ConcreteValueError:
        decides = not op.calls_user and may_be_caught(is_nested=is_nested, by_with=False)
        return _decide(builder, number) if decides else number
    except Exception as error:  # of what came before, where it would not have been caught
        builder.refused = builder.refused or (type(error), str(error))
        raise
    try:
        builder.value(number)
    except Exception:
        del builder.entries[number:]
        raise
    if policy.on_values:  # what is known need not be computed again
        builder.evaluated = max(builder.evaluated, number + len(op.results))
    return number


def _decide(builder: Builder, number: int) -> int:
    """Decide by whether the last equation raises; return the number that it has then."""
    made = builder.entries[number:]
    op, *refs = made[0]
    del builder.entries[number:]
    asks = operation(fails_p, Fails(program_of_operation(op), ()), op.operands)
    (flag,) = builder.record(asks, refs)
    outcome = decided(flag, lambda x: x)
    if outcome is None:
        missing = ConcreteValueError(
            f"whether {op.primitive} raises an exception decides what a `try` does at "
            f"{user_location()}, but {builder.name} is traced without values (inside cond, scan, "
            "or vmap of examples that differ in it). Leave out the try and compute what is right "
            "for both, with np.where or fd.cond and np.linalg.eigvalsh(x).min() > 0, say."
        )
        remember(flag, missing)
        raise missing
    if outcome:
        raise KINDS[outcome - 1](f"{op.primitive} of {', '.join(map(str, op.operands))} failed")
    number = len(builder.entries)
    for entry in made:
        builder.entries.append(entry)
    return number
