"""What is for a reader and computes nothing: source text, cost, provenance."""
