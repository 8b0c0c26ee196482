"""Shows programs and calls to a reader: source text, cost, provenance, explanations."""
