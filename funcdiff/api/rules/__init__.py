"""Rules of the user's: derivatives, opaque code, and solvers with implicit derivatives."""
