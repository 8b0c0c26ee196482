"""The functions of ``scipy.special``, by family; SciPy itself is imported when one of them runs."""
