"""Recording of equations while a function is traced: builders, captured arrays, values at hand."""
