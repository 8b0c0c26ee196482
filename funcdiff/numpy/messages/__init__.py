"""What to say of calls that NumPy or funcdiff refuses."""
