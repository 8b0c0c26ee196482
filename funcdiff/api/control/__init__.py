"""Structured control flow: branches and loops that become one equation; checkpoints."""
