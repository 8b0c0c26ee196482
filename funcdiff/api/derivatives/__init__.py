"""Functions to derivatives of functions: gradients, Jacobians, Hessians and their products."""
