"""What `jit` runs for one kind of arguments: a program, or one for each way through a function."""
