"""Error messages for calls that NumPy or funcdiff refuses."""
