"""Structural sparsity: where a linear program is zero for certain, and masks that keep it so."""
