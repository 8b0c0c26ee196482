"""Values named inside a function, and their gradients."""
