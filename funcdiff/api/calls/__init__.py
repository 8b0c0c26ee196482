"""From a call to a trace and back: arguments, containers, axes, cotangents, results."""
