"""Rewrite rules: functions whose docstring is the identity."""
