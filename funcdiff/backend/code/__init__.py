"""A program as NumPy source that runs fast: buffers, constants, products."""
