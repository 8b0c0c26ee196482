"""Shows programs to a reader and computes nothing: source text, cost, provenance."""
