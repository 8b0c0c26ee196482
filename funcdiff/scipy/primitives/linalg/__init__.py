"""Linear algebra of ``scipy.linalg`` and ``scipy.sparse``: factors, equations, systems."""
