"""Generates kernels, the code that `jit` runs: their memory is kept from call to call."""
