"""
Conductivity from temperatures: scikit-fem
==========================================

A plate is heated on its whole area and held at zero on its edge. Where it was measured, its
temperature tells how well each of its parts conducts. scikit-fem assembles the matrix of a mesh;
adapted, assembly and solution have derivatives by the conductivity of each quarter.

It needs scikit-fem: ``pip install scikit-fem``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import funcdiff as fd

skfem = fd.adapt("skfem")

# %%
# The model
# ---------

mesh = skfem.MeshTri().refined(3)
basis = skfem.Basis(mesh, skfem.ElementTriP1())
inner = mesh.interior_nodes()


def quarter(x):
    return (x[0] > 0.5) + 2 * (x[1] > 0.5)


def temperatures(logs):
    """Return the temperatures at the inner nodes, of the logarithms of four conductivities."""
    conductivity = np.exp(logs)[quarter(basis.global_coordinates())]

    @skfem.BilinearForm
    def stiffness(u, v, _):
        return conductivity * (u.grad[0] * v.grad[0] + u.grad[1] * v.grad[1])

    @skfem.LinearForm
    def heat(v, _):
        return 1.0 * v

    A, b = stiffness.assemble(basis).toarray(), heat.assemble(basis)
    return np.linalg.solve(A[np.ix_(inner, inner)], b[inner])


# %%
# Data, and the fit
# -----------------

truth = np.log([1.0, 3.0, 0.5, 2.0])
rng = np.random.default_rng(0)
measured = temperatures(truth) * (1.0 + 0.01 * rng.standard_normal(len(inner)))


def residuals(logs):
    return temperatures(logs) - measured


fit = least_squares(residuals, np.zeros(4), jac=fd.jacobian(residuals))
print("conductivities:", np.exp(fit.x).round(3), "true:", np.exp(truth))
print("evaluations:", fit.nfev)

# %%

figure, axes = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
field = np.zeros(mesh.p.shape[1])
field[inner] = temperatures(fit.x)
drawn = axes.tricontourf(mesh.p[0], mesh.p[1], mesh.t.T, field, 12)
figure.colorbar(drawn, label="temperature")
axes.set_aspect("equal")

# %%
# .. image:: /_static/packages/adapt_finite_elements.svg
#    :alt: The temperature in the square, by its fitted conductivities

# sphinx_gallery_thumbnail_path = "_static/packages/adapt_finite_elements.svg"

assert np.all(np.abs(fit.x - truth) < 0.1)
