"""Loop optimizations: distribution, rerolling, and code motion out of loops."""
