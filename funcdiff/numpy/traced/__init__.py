"""The traced array and the traced Python number."""
