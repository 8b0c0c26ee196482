"""Where a linear program is zero by structure, and what follows from that."""
