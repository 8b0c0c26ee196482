"""Functions of matrices through their spectra."""
