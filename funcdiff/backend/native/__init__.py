"""Machine code for chains of elementwise operations: one loop, with functions of its own."""
