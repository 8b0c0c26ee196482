"""Quaternions and attitude: rowan, transforms3d, pytransform3d, pyquaternion, ahrs, pyrr."""

import numpy as np

from docs.packages.case import case

Q = [0.88, 0.22, -0.44, 0.4]
UNIT = np.array([0.5, 0.5, -0.5, 0.5])


def rotation(angle):
    """Return the rotation about a slanted axis, as a matrix of numbers that may vary."""
    a = np.array([1.0, 2.0, 2.0]) / 3.0
    K = np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


@case("rowan", Q)
def multiply(rowan, q):
    return rowan.multiply(q, UNIT)


@case("rowan", Q)
def log(rowan, q):
    return rowan.log(q)


@case("rowan", Q)
def power(rowan, q):
    return rowan.power(q, 1.7)


@case("rowan", Q)
def rotate(rowan, q):
    return rowan.rotate(rowan.normalize(q), np.array([1.0, -2.0, 0.5]))


@case("rowan", [0.3, 0.5, -0.2])
def from_euler(rowan, angles):
    return rowan.from_euler(angles[0], angles[1], angles[2])


@case("rowan", Q)
def to_euler(rowan, q):
    return rowan.to_euler(rowan.normalize(q))


@case("rowan", 0.4)
def from_matrix(rowan, angle):
    return rowan.from_matrix(rotation(angle))


@case("rowan.interpolate", 0.4)
def slerp(interpolate, t):
    return interpolate.slerp(np.array([1.0, 0.0, 0.0, 0.0]), UNIT, t)


@case("transforms3d.quaternions", Q)
def quat2mat(quaternions, q):
    return quaternions.quat2mat(q)


@case("transforms3d.quaternions", 0.4)
def mat2quat(quaternions, angle):
    return quaternions.mat2quat(rotation(angle))


@case("transforms3d.quaternions", Q)
def qexp(quaternions, q):
    return quaternions.qexp(q)


@case("transforms3d.quaternions", Q)
def rotate_vector(quaternions, q):
    return quaternions.rotate_vector(np.array([1.0, -2.0, 0.5]), q, is_normalized=False)


@case("transforms3d.euler", [0.3, 0.5, -0.2])
def euler2mat(euler, angles):
    return euler.euler2mat(angles[0], angles[1], angles[2])


@case("transforms3d.euler", 0.4)
def mat2euler(euler, angle):
    return np.stack(euler.mat2euler(rotation(angle)))


@case("transforms3d.affines", [1.0, 2.0, 3.0])
def compose(affines, zooms):
    return affines.compose(np.array([1.0, 2.0, 3.0]), np.eye(3), zooms)


@case("transforms3d.axangles", 0.4)
def axangle2mat(axangles, angle):
    return axangles.axangle2mat([1.0, 2.0, 2.0], angle)


@case("pytransform3d.rotations", [0.3, 0.5, -0.2])
def matrix_from_euler(rotations, angles):
    return rotations.matrix_from_euler(angles, 0, 1, 2, True)


@case("pytransform3d.rotations", Q)
def matrix_from_quaternion(rotations, q):
    return rotations.matrix_from_quaternion(q)


@case("pytransform3d.rotations", 0.4)
def quaternion_from_matrix(rotations, angle):
    return rotations.quaternion_from_matrix(rotation(angle))


@case("pytransform3d.rotations", 0.4)
def axis_angle_from_matrix(rotations, angle):
    return rotations.axis_angle_from_matrix(rotation(angle))


@case("pytransform3d.rotations", [0.3, 0.5, -0.2])
def matrix_from_compact_axis_angle(rotations, a):
    return rotations.matrix_from_compact_axis_angle(a)


@case("pytransform3d.rotations", 0.4)
def quaternion_slerp(rotations, t):
    return rotations.quaternion_slerp(np.array([1.0, 0.0, 0.0, 0.0]), UNIT, t)


@case("pytransform3d.transformations", [0.3, 0.5, -0.2, 1.0, 2.0, 3.0])
def transform_from_exponential_coordinates(transformations, coordinates):
    return transformations.transform_from_exponential_coordinates(coordinates)


@case("pytransform3d.transformations", [1.0, 2.0, 3.0])
def adjoint_from_transform(transformations, p):
    return transformations.adjoint_from_transform(transformations.transform_from(rotation(0.4), p))


@case("pyquaternion", Q, "Quaternion.rotate")
def quaternion_rotate(pyquaternion, q):
    return pyquaternion.Quaternion(q).rotate(np.array([1.0, -2.0, 0.5]))


@case("pyquaternion", Q, "Quaternion.__mul__")
def quaternion_product(pyquaternion, q):
    return (pyquaternion.Quaternion(q) * pyquaternion.Quaternion(UNIT)).elements


@case("pyquaternion", 0.4, "Quaternion.rotation_matrix")
def rotation_matrix(pyquaternion, angle):
    return pyquaternion.Quaternion(axis=[1.0, 2.0, 2.0], angle=angle).rotation_matrix


@case("pyquaternion", Q, "Quaternion.log")
def quaternion_log(pyquaternion, q):
    return pyquaternion.Quaternion.log(pyquaternion.Quaternion(q)).elements


@case("pyquaternion", 0.4, "Quaternion.slerp")
def quaternion_slerp_class(pyquaternion, t):
    start = pyquaternion.Quaternion(1.0, 0.0, 0.0, 0.0)
    return pyquaternion.Quaternion.slerp(start, pyquaternion.Quaternion(UNIT), t).elements


@case("ahrs.filters", [0.1, -0.2, 0.3], "Madgwick.updateIMU")
def madgwick(filters, gyr):
    return filters.Madgwick(gain=0.04).updateIMU(UNIT, gyr=gyr, acc=np.array([0.1, 0.2, 9.7]))


@case("ahrs.filters", [0.1, -0.2, 0.3], "Mahony.updateIMU")
def mahony(filters, gyr):
    return filters.Mahony().updateIMU(UNIT, gyr=gyr, acc=np.array([0.1, 0.2, 9.7]))


@case("ahrs.filters", [0.4, 0.9, 9.6], "Tilt.estimate")
def tilt(filters, acc):
    return filters.Tilt().estimate(acc)


@case("ahrs.filters", [0.1, -0.2, 0.3], "EKF.update")
def attitude_ekf(filters, gyr):
    return filters.EKF().update(UNIT, gyr, np.array([0.1, 0.2, 9.7]))


@case("ahrs.common.orientation", [0.4, 0.9, 9.6])
def ecompass(orientation, acc):
    return orientation.ecompass(acc, np.array([20.0, 3.0, -40.0]))


@case("ahrs.common.orientation", 0.4, "slerp")
def ahrs_slerp(orientation, t):
    return orientation.slerp(np.array([1.0, 0.0, 0.0, 0.0]), UNIT, np.stack([t, 0.5 * t]))


@case("ahrs.common.orientation", Q)
def q_prod(orientation, q):
    return orientation.q_prod(q, UNIT)


@case("ahrs.utils.wgs84", 0.6, "WGS.normal_gravity")
def normal_gravity(wgs84, latitude):
    return wgs84.WGS().normal_gravity(latitude, 500.0)


@case("pyrr.quaternion", 0.4, "slerp")
def pyrr_slerp(quaternion, t):
    return quaternion.slerp(np.array([1.0, 0.0, 0.0, 0.0]), UNIT, t)


@case("pyrr.quaternion", Q)
def apply_to_vector(quaternion, q):
    return quaternion.apply_to_vector(q, np.array([1.0, -2.0, 0.5]))


@case("pyrr.matrix44", 60.0)
def create_perspective_projection(matrix44, angle):
    return matrix44.create_perspective_projection(angle, 1.5, 0.1, 100.0)


@case("pyrr.matrix44", [1.0, 2.0, 3.0])
def create_look_at(matrix44, eye):
    return matrix44.create_look_at(eye, np.zeros(3), np.array([0.0, 1.0, 0.0]))


@case("pyrr.matrix33", [0.3, 0.5, -0.2])
def create_from_eulers(matrix33, angles):
    return matrix33.create_from_eulers(angles)
