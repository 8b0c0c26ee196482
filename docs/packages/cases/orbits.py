"""Orbits and geodesy: sgp4, skyfield, pymap3d, geographiclib, nvector."""

from math import radians

import numpy as np

from docs.packages.case import case

ELEMENTS = (
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)


@case("sgp4.model", 30.0, "Satrec.sgp4_tsince")
def propagated(model, minutes):
    _, position, _ = model.Satrec.twoline2rv(*ELEMENTS).sgp4_tsince(minutes)
    return np.stack(position)


@case("sgp4.propagation", 0.0007, "sgp4init", also=("sgp4.earth_gravity",))
def initialized(propagation, earth_gravity, eccentricity):
    satellite = type("Satellite", (), {})()
    satellite.whichconst = earth_gravity.wgs72
    propagation.sgp4init(
        earth_gravity.wgs72,
        "i",
        "25544",
        25545.69339541,
        3.8792e-05,
        0.0,
        0.0,
        eccentricity,
        radians(17.6667),
        radians(51.6439),
        radians(85.6398),
        0.0676378,
        radians(211.2001),
        satellite,
    )
    return np.stack(propagation.sgp4(satellite, 30.0)[0])


@case("sgp4.propagation", 0.36)
def gstime(propagation, day):
    return propagation.gstime(2458827.0 + day)


@case("skyfield.functions", [1.0, 2.0, 2.5])
def to_spherical(functions, xyz):
    return np.stack(functions.to_spherical(xyz))


@case("skyfield.functions", [1.0, 2.0, 2.5])
def angle_between(functions, u):
    return functions.angle_between(u, np.array([0.3, -1.0, 0.8]))


@case("skyfield.functions", 0.4)
def rot_z(functions, angle):
    return functions.rot_z(angle)


@case("skyfield.earthlib", 20.0)
def refraction(earthlib, altitude):
    return earthlib.refraction(altitude, 10.0, 1010.0)


@case("skyfield.keplerlib", [0.9, 0.1, 0.05])
def propagate(keplerlib, position):
    velocity = np.array([-0.001, 0.016, 0.002])
    gm = 0.0002959122082855911
    times = np.array([0.0, 10.0, 50.0])
    return keplerlib.propagate(position, velocity, 0.0, times, gm)[0]


@case("skyfield.relativity", [0.5, 0.8, 0.2])
def add_aberration(relativity, position):
    moved = position * 1.0
    relativity.add_aberration(moved, np.array([0.001, 0.016, 0.002]), 0.006)
    return moved


@case("pymap3d", [42.0, 43.0])
def geodetic2ecef(pymap3d, latitude):
    return np.stack(pymap3d.geodetic2ecef(latitude, -82.0, 200.0))


@case("pymap3d", [660675.0, 670949.0])
def ecef2geodetic(pymap3d, x):
    y, z = np.array([-4.7e6, -4.6e6]), np.array([4.2e6, 4.3e6])
    return np.stack(pymap3d.ecef2geodetic(x, y, z))


@case("pymap3d", 186.0)
def enu2aer(pymap3d, east):
    return np.stack(pymap3d.enu2aer(east, 286.0, 939.0))


@case("pymap3d", [42.0, 43.0])
def geodetic2aer(pymap3d, latitude):
    return np.stack(pymap3d.geodetic2aer(latitude, -82.0, 200.0, 41.5, -81.0, 100.0))


@case("pymap3d", 186.0)
def enu2geodetic(pymap3d, east):
    return np.stack(pymap3d.enu2geodetic(east, 286.0, 939.0, 42.0, -82.0, 200.0))


@case("pymap3d.vincenty", 10.0)
def vdist(vincenty, latitude):
    return vincenty.vdist(latitude, 20.0, 12.0, 24.0)[0]


@case("pymap3d.vincenty", 3e5)
def vreckon(vincenty, distance):
    return np.stack(vincenty.vreckon(10.0, 20.0, distance, 38.0))


@case("pymap3d.haversine", 10.0)
def anglesep_meeus(haversine, longitude):
    return haversine.anglesep_meeus(longitude, 20.0, 12.0, 24.0)


@case("pymap3d.lox", 10.0)
def meridian_arc(lox, latitude):
    return lox.meridian_arc(latitude, 42.0)


@case("pymap3d.latitude", [42.0, 43.0])
def geodetic2authalic(latitude, degrees):
    return latitude.geodetic2authalic(degrees)


@case("pymap3d.rcurve", [42.0, 43.0])
def transverse(rcurve, latitude):
    return rcurve.transverse(latitude)


@case("geographiclib.geodesic", 42.0, "Geodesic.Inverse")
def inverse(geodesic, latitude):
    return geodesic.Geodesic.WGS84.Inverse(latitude, 20.0, 12.0, 24.0)["s12"]


@case("geographiclib.geodesic", 3e5, "Geodesic.Direct")
def direct(geodesic, distance):
    return geodesic.Geodesic.WGS84.Direct(10.0, 20.0, 38.0, distance)["lat2"]


@case("geographiclib.geodesic", 42.0, "Geodesic.Line")
def line(geodesic, azimuth):
    return geodesic.Geodesic.WGS84.Line(10.0, 20.0, azimuth).Position(3e5)["lon2"]


@case("nvector", [0.4, 0.7])
def lat_lon2n_E(nvector, latitude):
    return nvector.lat_lon2n_E(latitude, np.array([0.1, 0.2]))


@case("nvector", [0.4, 0.7])
def n_E2lat_lon(nvector, latitude):
    normal = np.stack([np.sin(latitude), 0.6 * np.cos(latitude), -0.8 * np.cos(latitude)])
    return np.stack(nvector.n_E2lat_lon(normal))


@case("nvector", [4.2e6, 1.1e6, 4.7e6])
def p_EB_E2n_EB_E(nvector, position):
    return nvector.p_EB_E2n_EB_E(position[:, None])[0]


@case("nvector", [0.4, 0.7])
def great_circle_distance(nvector, latitude):
    there = nvector.lat_lon2n_E(np.array([0.5, 0.5]), np.array([0.9, 0.2]))
    normal = np.stack([np.sin(latitude), 0.6 * np.cos(latitude), -0.8 * np.cos(latitude)])
    return nvector.great_circle_distance(normal, there)
