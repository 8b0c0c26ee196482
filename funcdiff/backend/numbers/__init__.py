"""Programs of few numbers as Python floats."""
