"""Custom derivative rules, opaque code, and solvers with implicit derivatives."""
