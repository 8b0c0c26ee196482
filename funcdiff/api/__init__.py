"""Functions to functions: derivatives, batching, control flow and inspection.

Containers, ``argnums``, ``has_aux`` and the complex convention live here and nowhere else.
"""
