"""Functions that arrange elements without computing."""
