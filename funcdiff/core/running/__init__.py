"""Running of programs: walks over equations, the interpreter, derived programs that are kept."""
