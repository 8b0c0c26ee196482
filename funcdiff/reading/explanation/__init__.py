"""Explains a call: what is not finite, where kinks are, what lines cost, what to write instead."""
