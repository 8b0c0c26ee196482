"""Derivatives of recordings at first sight: on values, with no program derived."""
