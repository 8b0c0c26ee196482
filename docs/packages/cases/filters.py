"""State estimation: filterpy, pykalman, hmmlearn."""

import numpy as np

from docs.packages.case import case

MEASURED = np.array([0.9, 2.1, 2.8, 4.2, 5.1])


def tracker(kalman, noise):
    """Return a filter of position and velocity whose process noise varies."""
    kf = kalman.KalmanFilter(dim_x=2, dim_z=1)
    kf.x = np.array([0.0, 1.0])
    kf.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    kf.H = np.array([[1.0, 0.0]])
    kf.P = np.eye(2) * 10.0
    kf.R = np.array([[0.5]])
    kf.Q = noise * np.array([[0.25, 0.5], [0.5, 1.0]])
    return kf


@case("filterpy.kalman", 0.1, "KalmanFilter.log_likelihood")
def kalman_likelihood(kalman, noise):
    kf = tracker(kalman, noise)
    total = 0.0
    for z in MEASURED:
        kf.predict()
        kf.update(np.array([z]))
        total = total + kf.log_likelihood
    return total


@case("filterpy.kalman", [0.5, 1.0], "KalmanFilter.predict")
def kalman_predict(kalman, state):
    kf = tracker(kalman, 0.1)
    kf.x = state
    kf.predict()
    kf.update(np.array([2.0]))
    return kf.x


@case("filterpy.kalman", 0.1, "KalmanFilter.batch_filter")
def batch_filter(kalman, noise):
    means, _, _, _ = tracker(kalman, noise).batch_filter(MEASURED)
    return means


@case("filterpy.kalman", 0.1, "KalmanFilter.rts_smoother")
def rts_smoother(kalman, noise):
    kf = tracker(kalman, noise)
    means, covariances, _, _ = kf.batch_filter(MEASURED)
    return kf.rts_smoother(means, covariances)[0]


@case("filterpy.kalman", [3.0, 1.0], "ExtendedKalmanFilter.update")
def extended(kalman, state):
    kf = kalman.ExtendedKalmanFilter(dim_x=2, dim_z=1)
    kf.x = state
    kf.P = np.eye(2)
    kf.R = np.array([[0.1]])
    kf.update(
        np.array([3.3]),
        lambda x: np.stack([x / np.sqrt(np.sum(x * x))]),
        lambda x: np.stack([np.sqrt(np.sum(x * x))]),
    )
    return kf.x


@case("filterpy.kalman", [0.2, 1.0], "UnscentedKalmanFilter.update")
def unscented(kalman, state):
    points = kalman.MerweScaledSigmaPoints(2, 0.1, 2.0, 1.0)
    kf = kalman.UnscentedKalmanFilter(
        2,
        1,
        1.0,
        hx=lambda x: x[:1] ** 2,
        fx=lambda x, dt: np.stack([x[0] + dt * x[1], x[1]]),
        points=points,
    )
    kf.x = state
    kf.P = np.eye(2) * 0.2
    kf.predict()
    kf.update(np.array([1.5]))
    return kf.x


@case("filterpy.kalman", [0.2, 1.0], "MerweScaledSigmaPoints.sigma_points")
def sigma_points(kalman, mean):
    points = kalman.MerweScaledSigmaPoints(2, 0.1, 2.0, 1.0)
    return points.sigma_points(mean, np.array([[2.0, 0.3], [0.3, 1.0]]))


@case("filterpy.kalman", [0.3, 0.8])
def predict(kalman, x):
    F = np.array([[1.0, 0.5], [0.0, 1.0]])
    return kalman.predict(x, np.eye(2), F, 0.1 * np.eye(2))[0]


@case("filterpy.kalman", [0.3, 0.8])
def update(kalman, x):
    H = np.array([[1.0, 0.5]])
    return kalman.update(x, np.eye(2), np.array([1.7]), np.array([[0.4]]), H)[0]


@case("filterpy.common", 0.5)
def Q_discrete_white_noise(common, dt):
    return common.Q_discrete_white_noise(3, dt, 0.2)


@case("filterpy.common", 0.5)
def van_loan_discretization(common, rate):
    F = rate * np.array([[0.0, 1.0], [-1.0, -0.2]])
    return common.van_loan_discretization(F, np.array([[0.0], [2.0]]), 0.1)[1]


@case("filterpy.stats", 0.7)
def gaussian(stats, x):
    return stats.gaussian(x, 1.0, 2.0)


@case("filterpy.stats", [0.5, 1.5])
def log_likelihood(stats, x):
    return stats.log_likelihood(
        np.array([0.7]), x, np.eye(2), np.array([[1.0, 0.5]]), np.array([[0.3]])
    )


@case("filterpy.stats", [0.5, 1.5])
def mahalanobis(stats, x):
    return stats.mahalanobis(x, np.array([0.1, 0.2]), np.array([[2.0, 0.3], [0.3, 1.0]]))


@case("filterpy.gh", 0.4, "GHFilter.update")
def gh_filter(gh, gain):
    f = gh.GHFilter(0.0, 1.0, 1.0, gain, 0.2)
    for z in MEASURED:
        f.update(z)
    return f.x


@case("filterpy.leastsq", [1.1, 2.3, 2.9], "LeastSquaresFilter.update")
def least_squares_filter(leastsq, z):
    f = leastsq.LeastSquaresFilter(1.0, 1, 0.1)
    for i in range(3):
        f.update(z[i])
    return f.x


def position_filter(pykalman, noise, **start):
    """Return a filter of position and speed, of which the position is measured."""
    return pykalman.KalmanFilter(
        transition_matrices=np.array([[1.0, 1.0], [0.0, 1.0]]),
        observation_matrices=np.array([[1.0, 0.0]]),
        transition_covariance=noise * np.eye(2),
        observation_covariance=np.array([[0.5]]),
        **start,
    )


START = {"initial_state_mean": np.zeros(2), "initial_state_covariance": np.eye(2)}


@case("pykalman", 0.1, "KalmanFilter.loglikelihood")
def pykalman_likelihood(pykalman, noise):
    return position_filter(pykalman, noise, **START).loglikelihood(MEASURED)


@case("pykalman", [0.2, 0.9], "KalmanFilter.filter_update")
def filter_update(pykalman, mean):
    return position_filter(pykalman, 0.1).filter_update(mean, np.eye(2), np.array([1.3]))[0]


@case("pykalman", 0.1, "KalmanFilter.smooth")
def smooth(pykalman, noise):
    return position_filter(pykalman, noise, **START).smooth(MEASURED)[0]


@case("hmmlearn.hmm", [-1.0, 1.5], "GaussianHMM.score")
def score(hmm, means):
    model = hmm.GaussianHMM(n_components=2, covariance_type="diag")
    model.startprob_ = np.array([0.6, 0.4])
    model.transmat_ = np.array([[0.8, 0.2], [0.3, 0.7]])
    model.means_ = means[:, None]
    model.covars_ = np.array([[0.5], [0.7]])
    return model.score(np.array([[-0.8], [-1.2], [1.1], [1.9]]))


@case("hmmlearn.stats", [-1.0, 1.5])
def log_multivariate_normal_density(stats, means):
    X = np.array([[-0.8], [-1.2], [1.1]])
    return stats.log_multivariate_normal_density(X, means[:, None], np.array([[0.5], [0.7]]))
