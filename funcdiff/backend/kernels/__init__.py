"""What `jit` runs: code with memory that is kept from call to call."""
