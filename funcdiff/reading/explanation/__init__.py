"""Explains a call: values that are not finite, kinks, costs of lines, and better formulas."""
