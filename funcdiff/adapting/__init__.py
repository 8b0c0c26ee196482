"""Code that nobody here wrote, run on traced arrays: second copies of whole packages."""
