"""Programs as text: the parser and the verifier."""
