"""Solar energy: pvlib."""

import numpy as np

from docs.packages.case import case

MODULE = {
    "A0": 0.928385,
    "A1": 0.068093,
    "A2": -0.0157738,
    "A3": 0.0016606,
    "A4": -6.93e-05,
    "B0": 1.0,
    "B1": -0.002438,
    "B2": 0.0003103,
    "B3": -1.246e-05,
    "B4": 2.11e-07,
    "B5": -1.36e-09,
    "C0": 1.01284,
    "C1": -0.0128398,
    "C2": 0.279317,
    "C3": -7.24463,
    "C4": 0.996446,
    "C5": 0.003554,
    "C6": 1.15535,
    "C7": -0.155353,
    "Isco": 5.09115,
    "Impo": 4.54629,
    "Voco": 59.2608,
    "Vmpo": 48.3156,
    "Aisc": 0.000397,
    "Aimp": 0.000181,
    "Bvoco": -0.21696,
    "Bvmpo": -0.235488,
    "Mbvoc": 0.0,
    "Mbvmp": 0.0,
    "N": 1.4032,
    "Cells_in_Series": 96,
    "IXO": 4.97599,
    "IXXO": 3.18803,
    "FD": 1.0,
}

INVERTER = {
    "Paco": 250.0,
    "Pdco": 259.6,
    "Vdco": 40.0,
    "Pso": 2.09,
    "C0": -4.1e-05,
    "C1": -9.1e-05,
    "C2": 0.000494,
    "C3": -0.013171,
    "Pnt": 0.075,
}


@case("pvlib.irradiance", 20.0)
def aoi(irradiance, tilt):
    return irradiance.aoi(tilt, 180.0, 30.0, 150.0)


@case("pvlib.irradiance", [20.0, 35.0, 50.0])
def isotropic(irradiance, tilt):
    return irradiance.isotropic(tilt, 100.0)


@case("pvlib.irradiance", [20.0, 35.0, 50.0])
def haydavies(irradiance, tilt):
    return irradiance.haydavies(tilt, 180.0, 100.0, 700.0, 1360.0, 40.0, 160.0)


@case("pvlib.irradiance", 35.0)
def klucher(irradiance, tilt):
    return irradiance.klucher(tilt, 180.0, 100.0, 600.0, 40.0, 160.0)


@case("pvlib.irradiance", [20.0, 35.0, 50.0])
def reindl(irradiance, tilt):
    return irradiance.reindl(tilt, 180.0, 100.0, 700.0, 640.0, 1360.0, 40.0, 160.0)


@case("pvlib.irradiance", [90.0, 120.0])
def perez(irradiance, dhi):
    return irradiance.perez(30.0, 180.0, dhi, 700.0, 1360.0, 40.0, 160.0, 1.3)


@case("pvlib.irradiance", [400.0, 500.0])
def erbs(irradiance, ghi):
    return irradiance.erbs(ghi, 40.0, 180)["dhi"]


@case("pvlib.irradiance", [400.0, 500.0])
def disc(irradiance, ghi):
    return irradiance.disc(ghi, 40.0, 180)["dni"]


@case("pvlib.atmosphere", [30.0, 60.0, 80.0])
def get_relative_airmass(atmosphere, zenith):
    return atmosphere.get_relative_airmass(zenith)


@case("pvlib.atmosphere", 1500.0)
def alt2pres(atmosphere, altitude):
    return atmosphere.alt2pres(altitude)


@case("pvlib.atmosphere", [10.0, 20.0])
def gueymard94_pw(atmosphere, temperature):
    return atmosphere.gueymard94_pw(temperature, 50.0)


@case("pvlib.clearsky", [30.0, 60.0])
def bird(clearsky, zenith):
    return clearsky.bird(zenith, np.array([1.2, 2.0]), 0.1, 0.05, 1.5)["ghi"]


@case("pvlib.clearsky", [20.0, 40.0])
def simplified_solis(clearsky, elevation):
    return clearsky.simplified_solis(elevation)["ghi"]


@case("pvlib.pvsystem", [600.0, 800.0])
def calcparams_desoto(pvsystem, irradiance):
    found = pvsystem.calcparams_desoto(irradiance, 45.0, 0.003, 1.6, 6.0, 1e-9, 300.0, 0.4)
    return found[0] + 1e8 * found[1] + found[3]


@case("pvlib.pvsystem", 6.0)
def i_from_v(pvsystem, photocurrent):
    return pvsystem.i_from_v(20.0, photocurrent, 1e-9, 0.4, 300.0, 1.6)


@case("pvlib.pvsystem", [5.0, 6.0])
def v_from_i(pvsystem, photocurrent):
    return pvsystem.v_from_i(3.0, photocurrent, 1e-9, 0.4, 300.0, 1.6)


@case("pvlib.pvsystem", [5.0, 6.0])
def singlediode(pvsystem, photocurrent):
    return pvsystem.singlediode(photocurrent, 1e-9, 0.4, 300.0, 1.6)["v_oc"]


@case("pvlib.pvsystem", [600.0, 800.0])
def sapm(pvsystem, irradiance):
    return pvsystem.sapm(irradiance, 45.0, MODULE)["p_mp"]


@case("pvlib.temperature", [600.0, 800.0])
def sapm_cell(temperature, irradiance):
    return temperature.sapm_cell(irradiance, 20.0, 3.0, -3.47, -0.0594, 3.0)


@case("pvlib.temperature", [1.0, 3.0])
def faiman(temperature, wind):
    return temperature.faiman(800.0, 20.0, wind)


@case("pvlib.iam", [20.0, 50.0, 70.0])
def physical(iam, angle):
    return iam.physical(angle)


@case("pvlib.iam", [20.0, 50.0, 70.0])
def martin_ruiz(iam, angle):
    return iam.martin_ruiz(angle)


@case("pvlib.inverter", [100.0, 200.0])
def sandia(inverter, power):
    return inverter.sandia(38.0, power, INVERTER)


@case("pvlib.solarposition", [0.3, 0.7])
def solar_zenith_analytical(solarposition, latitude):
    return solarposition.solar_zenith_analytical(latitude, 0.4, 0.2)


@case("pvlib.tracking", [40.0, 60.0])
def singleaxis(tracking, zenith):
    return tracking.singleaxis(zenith, 100.0, max_angle=80.0, backtrack=False)["aoi"]


@case("pvlib.shading", [75.0, 80.0])
def shaded_fraction1d(shading, zenith):
    return shading.shaded_fraction1d(
        zenith, 90.0, 180.0, 30.0, collector_width=2.0, pitch=3.0, shading_row_rotation=30.0
    )
