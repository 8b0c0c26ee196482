"""Compiles one kind of arguments for `jit`: one program, or a tree of programs with guards."""
