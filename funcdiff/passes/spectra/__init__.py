"""Functions of eigenvalues and singular values, recognised in derivatives."""
