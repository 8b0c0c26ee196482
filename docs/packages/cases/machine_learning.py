"""Kernels, metrics, transport, random fields: scikit-learn, POT, pyriemann, gstools."""

import numpy as np

from docs.packages.case import case

X = np.array([[0.1, 0.9], [1.2, -0.3], [0.4, 0.5]])
P = np.array([[2.0, 0.3], [0.3, 1.0]])


def spread(scale):
    """Return a positive definite matrix that depends on a number."""
    return scale * np.array([[1.0, 0.2], [0.2, 0.5]]) + np.eye(2)


@case("sklearn.gaussian_process.kernels", 0.8, "RBF.__call__")
def rbf(kernels, length):
    return kernels.RBF(length)(X)


@case("sklearn.gaussian_process.kernels", 0.8, "Matern.__call__")
def matern(kernels, length):
    return kernels.Matern(length, nu=2.5)(X)


@case("sklearn.gaussian_process.kernels", 0.8, "RationalQuadratic.__call__")
def rational(kernels, length):
    return kernels.RationalQuadratic(length, 1.5)(X)


@case("sklearn.gaussian_process.kernels", 0.8, "ExpSineSquared.__call__")
def periodic(kernels, length):
    return kernels.ExpSineSquared(length, 1.5)(X)


@case("sklearn.gaussian_process", [0.2, -0.3], "GaussianProcessRegressor.log_marginal_likelihood")
def marginal(gaussian_process, theta):
    kernels = gaussian_process.kernels
    kernel = kernels.ConstantKernel(1.0) * kernels.RBF(1.0)
    model = gaussian_process.GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None)
    model.fit(X, np.array([0.3, -0.2, 0.5]))
    return model.log_marginal_likelihood(theta)


@case("sklearn.metrics.pairwise", [[0.1, 0.9], [1.2, -0.3], [0.4, 0.5]])
def rbf_kernel(pairwise, x):
    return pairwise.rbf_kernel(x, np.array([[0.5, 0.6]]), gamma=0.7)


@case("sklearn.metrics.pairwise", [[0.1, 0.9], [1.2, -0.3], [0.4, 0.5]])
def euclidean_distances(pairwise, x):
    return pairwise.euclidean_distances(x, np.array([[0.7, -0.6]]))


@case("sklearn.metrics.pairwise", [[0.1, 0.9], [1.2, -0.3], [0.4, 0.5]])
def cosine_similarity(pairwise, x):
    return pairwise.cosine_similarity(x, np.array([[0.7, -0.6]]))


@case("sklearn.metrics", [0.2, 0.7, 0.6])
def mean_squared_error(metrics, predicted):
    return metrics.mean_squared_error(np.array([0.3, 0.5, 0.9]), predicted)


@case("sklearn.metrics", [0.2, 0.7, 0.6])
def r2_score(metrics, predicted):
    return metrics.r2_score(np.array([0.3, 0.5, 0.9]), predicted)


@case("sklearn.metrics", [0.2, 0.7, 0.6])
def log_loss(metrics, predicted):
    return metrics.log_loss(np.array([0, 1, 1]), predicted)


@case("sklearn.covariance", [[0.1, 0.9], [1.2, -0.3], [0.4, 0.5], [0.9, 0.2]])
def empirical_covariance(covariance, x):
    return covariance.empirical_covariance(x)


@case("sklearn.covariance", [[0.1, 0.9], [1.2, -0.3], [0.4, 0.5], [0.9, 0.2]])
def ledoit_wolf_shrinkage(covariance, x):
    return covariance.ledoit_wolf_shrinkage(x)


@case("sklearn.linear_model", [[0.1, 0.9], [1.2, -0.3]], "LinearRegression.predict")
def predict(linear_model, x):
    model = linear_model.LinearRegression().fit(X, np.array([0.3, -0.2, 0.5]))
    return model.predict(x)


@case("sklearn.preprocessing", [[0.1, 0.9], [1.2, -0.3], [0.4, 0.5]])
def scale(preprocessing, x):
    return preprocessing.scale(x)


@case("ot", [[1.0, 2.0], [0.5, 0.3]])
def sinkhorn(ot, cost):
    return ot.sinkhorn(np.array([0.4, 0.6]), np.array([0.5, 0.5]), cost, 0.5, stopThr=1e-14)


@case("ot", [[1.0, 2.0], [0.5, 0.3]])
def sinkhorn2(ot, cost):
    return ot.sinkhorn2(np.array([0.4, 0.6]), np.array([0.5, 0.5]), cost, 0.5, stopThr=1e-14)


@case("ot", [[0.1, 0.9], [1.2, -0.3]])
def dist(ot, x):
    return ot.dist(x, np.array([[0.7, -0.6], [0.2, 0.1]]))


@case("ot", [[1.0, 2.0], [0.5, 0.3]])
def emd2(ot, cost):
    return ot.emd2(np.array([0.4, 0.6]), np.array([0.5, 0.5]), cost)


@case("ot", [0.3, 1.2, 0.7])
def wasserstein_1d(ot, x):
    return ot.wasserstein_1d(x, np.array([0.1, 0.5, 2.0]), p=2)


@case("ot.gaussian", 0.7)
def bures_wasserstein_distance(gaussian, x):
    means = np.stack([x, 2.0 * x])
    return gaussian.bures_wasserstein_distance(means, np.zeros(2), spread(x), P)


@case("pyriemann.utils.base", 0.7)
def logm(base, x):
    return base.logm(spread(x))


@case("pyriemann.utils.base", 0.7)
def sqrtm(base, x):
    return base.sqrtm(spread(x))


@case("pyriemann.utils.distance", 0.7)
def distance_riemann(distance, x):
    return distance.distance_riemann(spread(x), P)


@case("pyriemann.utils.distance", 0.7)
def distance_wasserstein(distance, x):
    return distance.distance_wasserstein(spread(x), P)


@case("pyriemann.utils.geodesic", 0.3)
def geodesic_riemann(geodesic, t):
    return geodesic.geodesic_riemann(spread(0.7), P, t)


@case("pyriemann.utils.mean", 0.7)
def mean_riemann(mean, x):
    return mean.mean_riemann(np.stack([spread(x), P, np.eye(2)]), tol=1e-14)


@case("pyriemann.utils.tangentspace", 0.7)
def tangent_space(tangentspace, x):
    return tangentspace.tangent_space(np.stack([spread(x), P]), np.eye(2))


@case("gstools", [0.3, 1.2], "Gaussian.variogram")
def variogram(gstools, r):
    return gstools.Gaussian(dim=2, var=2.0, len_scale=1.5).variogram(r)


@case("gstools", [0.3, 1.2], "Matern.covariance")
def covariance(gstools, r):
    return gstools.Matern(dim=2, var=2.0, len_scale=1.5, nu=1.2).covariance(r)


@case("gstools", 1.5, "Exponential.correlation")
def correlation(gstools, length):
    return gstools.Exponential(dim=2, len_scale=length).correlation(np.array([0.3, 1.2]))


@case("gstools", [0.3, 1.2], "Gaussian.spectral_density")
def spectral_density(gstools, k):
    return gstools.Gaussian(dim=2, len_scale=1.5).spectral_density(k)


@case("gstools", [0.3, -0.2, 0.5], "krige.Ordinary.__call__")
def ordinary(gstools, values):
    model = gstools.Gaussian(dim=1, var=0.5, len_scale=2.0)
    kriging = gstools.krige.Ordinary(model, np.array([0.3, 1.9, 3.3]), values)
    return kriging(np.array([1.0, 2.5]), return_var=False)


@case("gstools.normalizer", [0.3, 1.2], "BoxCox.normalize")
def box_cox(normalizer, x):
    return normalizer.BoxCox(lmbda=0.5).normalize(x)
