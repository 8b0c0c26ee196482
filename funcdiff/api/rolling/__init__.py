"""Loops that Python decides by values, compiled once for whatever number of iterations."""
