"""Checks for those who write functions (`check_grads`) and those who write rules (`check_rules`).

Strategies for random arrays, indices and functions are in `funcdiff.testing.strategies`, a module
of its own because it needs hypothesis.
"""

from funcdiff.testing.gradients import check_grads
from funcdiff.testing.rules import check_rules

__all__ = ["check_grads", "check_rules"]
