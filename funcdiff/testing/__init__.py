"""Checks of derivatives and of rules, for their authors.

`check_grads` compares all derivatives of a function with differences, `check_jvp` and `check_vjp`
one derivative that somebody wrote; `check_rules` is for authors of operations.  Strategies for
random arrays, indices and functions are in `funcdiff.testing.strategies`, a module of its own
because it needs hypothesis.
"""

from funcdiff.testing.gradients import check_grads, check_jvp, check_vjp
from funcdiff.testing.rules import check_rules

__all__ = ["check_grads", "check_jvp", "check_rules", "check_vjp"]
