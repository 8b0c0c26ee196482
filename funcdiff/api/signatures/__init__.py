"""The signatures of the transforms, as a type checker sees them: one list of typed paths."""
