"""``autograd.scipy``: `funcdiff.scipy`, under the names that autograd has."""
