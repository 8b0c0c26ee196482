r"""
Logistic regression: Newton's method and standard errors
========================================================

Which measurements of cells tell malignant from benign tumours, and how sure is that? The data are
those of 569 patients that come with scikit-learn (Wolberg, Street and Mangasarian, 1995).

A logistic model gives each measurement a coefficient. The most likely coefficients are found by
Newton's method, and the inverse of the Hessian there is their covariance. By hand gradient
:math:`X^T (p - y)` and Hessian :math:`X^T \mathrm{diag}(p (1 - p)) X` are derived and coded, and
again when the model gets a new term. Here one line of likelihood gives both.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import funcdiff as fd

table = load_breast_cancer()
chosen = [
    "mean texture",
    "mean area",
    "mean smoothness",
    "mean concavity",
    "mean symmetry",
]
columns = [list(table.feature_names).index(name) for name in chosen]
measured = table.data[:, columns]
X = np.column_stack(
    [np.ones(len(measured)), (measured - measured.mean(0)) / measured.std(0)]
)
y = 1.0 - table.target  # 1 is malignant


def loss(w):
    """Return minus the logarithm of the likelihood."""
    scores = X @ w
    return np.sum(np.logaddexp(0.0, scores) - y * scores)


# %%
# Newton's method
# ---------------
# Value, gradient and Hessian come from one evaluation. The gradient shrinks quadratically.

newton = fd.jit(fd.value_grad_and_hessian(loss))
w, slopes = np.zeros(X.shape[1]), []
for _ in range(12):
    value, slope, H = newton(w)
    slopes.append(np.abs(slope).max())
    if slopes[-1] < 1e-10:
        break
    w = w - np.linalg.solve(H, slope)
print(f"{len(slopes)} evaluations, loss {value:.3f}, largest slopes:")
print("  ".join(f"{slope:.1e}" for slope in slopes))

# %%
# Standard errors
# ---------------
# An error is asked for, too, of a nonlinear function of the coefficients: the chance that a tumour
# with concavity one deviation above the mean, otherwise average, is malignant. The delta method
# takes its gradient.

covariance = np.linalg.inv(H)
errors = np.sqrt(np.diag(covariance))
for name, weight, error in zip(["(constant)", *chosen], w, errors, strict=True):
    print(f"{name:16}{weight:7.2f} ± {error:.2f}   z = {weight / error:5.1f}")


def chance(w):
    return 1 / (1 + np.exp(-(w[0] + w[4])))


p, slope = fd.value_and_grad(chance)(w)
chance_error = np.sqrt(slope @ covariance @ slope)
print(f"chance {p:.2f} ± {chance_error:.2f}")

# %%
# The result
# ----------

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
left.errorbar(w[1:], chosen, xerr=1.96 * errors[1:], fmt="o", capsize=4)
left.axvline(0, color="0.6", linestyle="--")
left.set(xlabel="coefficient per deviation, with 95 % intervals")
left.invert_yaxis()
right.semilogy(slopes, "o-")
right.set(xlabel="iteration", ylabel="largest slope", title="Newton's method")

# %%
# Nothing is left of the gradient, the Hessian is the textbook's, and the model tells more than 93 %
# of the tumours rightly.

fitted = 1 / (1 + np.exp(-X @ w))
assert slopes[-1] < 1e-10
assert np.allclose(
    H, X.T @ ((fitted * (1 - fitted))[:, None] * X), rtol=1e-10, atol=1e-10
)
assert np.mean((fitted > 0.5) == y) > 0.93
