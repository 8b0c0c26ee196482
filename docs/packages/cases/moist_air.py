"""Moist air and weather: psychrolib, MetPy, thermofeel, ambiance, seawater."""

import numpy as np

from docs.packages.case import case


def in_si(psychrolib):
    """Let the units be SI, once: setting them makes numba compile all functions anew.

    `GetUnitSystem` is not asked: as a ufunc of no arguments it ends the process.
    """
    if psychrolib.PSYCHROLIB_UNITS != psychrolib.SI:
        psychrolib.SetUnitSystem(psychrolib.SI)
    return psychrolib


@case("psychrolib", 25.0)
def GetSatVapPres(psychrolib, temperature):
    return in_si(psychrolib).GetSatVapPres(temperature)


@case("psychrolib", 0.012)
def GetTWetBulbFromHumRatio(psychrolib, ratio):
    return in_si(psychrolib).GetTWetBulbFromHumRatio(30.0, ratio, 101325.0)


@case("psychrolib", 0.5)
def GetTDewPointFromRelHum(psychrolib, humidity):
    return in_si(psychrolib).GetTDewPointFromRelHum(25.0, humidity)


@case("psychrolib", 25.0)
def GetMoistAirEnthalpy(psychrolib, temperature):
    return in_si(psychrolib).GetMoistAirEnthalpy(temperature, 0.01)


@case("psychrolib", 18.0)
def GetHumRatioFromTWetBulb(psychrolib, wet_bulb):
    return in_si(psychrolib).GetHumRatioFromTWetBulb(25.0, wet_bulb, 101325.0)


@case("psychrolib", 0.01)
def GetMoistAirDensity(psychrolib, ratio):
    return in_si(psychrolib).GetMoistAirDensity(25.0, ratio, 101325.0)


@case("psychrolib", 1500.0)
def GetStandardAtmPressure(psychrolib, altitude):
    return in_si(psychrolib).GetStandardAtmPressure(altitude)


@case("psychrolib", 0.5)
def CalcPsychrometricsFromRelHum(psychrolib, humidity):
    return in_si(psychrolib).CalcPsychrometricsFromRelHum(25.0, humidity, 101325.0)[4]


@case("metpy.calc", [280.0, 300.0], also=("metpy.units",))
def saturation_vapor_pressure(calc, units, temperature):
    return calc.saturation_vapor_pressure(units.units.Quantity(temperature, "K")).magnitude


@case("metpy.calc", [280.0, 300.0], also=("metpy.units",))
def potential_temperature(calc, units, temperature):
    pressure = units.units.Quantity(850.0, "hPa")
    return calc.potential_temperature(pressure, units.units.Quantity(temperature, "K")).magnitude


@case("metpy.calc", [3.0, 4.0], also=("metpy.units",))
def wind_speed(calc, units, u):
    return calc.wind_speed(
        units.units.Quantity(u, "m/s"), units.units.Quantity(u + 1.0, "m/s")
    ).magnitude


@case("metpy.calc", [8.0, 12.0], also=("metpy.units",))
def dewpoint(calc, units, pressure):
    return calc.dewpoint(units.units.Quantity(pressure, "hPa")).magnitude


@case("metpy.calc", [25.0, 35.0], also=("metpy.units",))
def mixing_ratio(calc, units, pressure):
    total = units.units.Quantity(1000.0, "hPa")
    return calc.mixing_ratio(units.units.Quantity(pressure, "hPa"), total).magnitude


@case("thermofeel", [300.0, 305.0])
def calculate_relative_humidity_percent(thermofeel, temperature):
    return thermofeel.calculate_relative_humidity_percent(temperature, 290.0)


@case("thermofeel", [300.0, 305.0])
def calculate_humidex(thermofeel, temperature):
    return thermofeel.calculate_humidex(temperature, 290.0)


@case("thermofeel", [300.0, 305.0])
def calculate_apparent_temperature(thermofeel, temperature):
    return thermofeel.calculate_apparent_temperature(temperature, 2.0, 50.0)


@case("thermofeel", [300.0, 305.0])
def calculate_wbt(thermofeel, temperature):
    return thermofeel.calculate_wbt(temperature, 50.0)


@case("thermofeel", [270.0, 268.0])
def calculate_wind_chill(thermofeel, temperature):
    return thermofeel.calculate_wind_chill(temperature, 5.0)


@case("thermofeel", [300.0, 305.0])
def calculate_utci(thermofeel, temperature):
    return thermofeel.calculate_utci(
        temperature, np.array([2.0, 3.0]), np.array([305.0, 310.0]), np.array([290.0, 291.0])
    )


@case("thermofeel", [300.0, 305.0])
def calculate_heat_index_adjusted(thermofeel, temperature):
    return thermofeel.calculate_heat_index_adjusted(temperature, np.array([295.0, 296.0]))


@case("ambiance", [1000.0, 5000.0], "Atmosphere.pressure")
def pressure(ambiance, height):
    return ambiance.Atmosphere(height).pressure


@case("ambiance", [1000.0, 5000.0], "Atmosphere.speed_of_sound")
def speed_of_sound(ambiance, height):
    return ambiance.Atmosphere(height).speed_of_sound


@case("seawater", [10.0, 20.0])
def dens(seawater, temperature):
    return seawater.dens(35.0, temperature, 1000.0)


@case("seawater", [10.0, 20.0])
def svel(seawater, temperature):
    return seawater.svel(35.0, temperature, 1000.0)


@case("seawater", [10.0, 20.0])
def ptmp(seawater, temperature):
    return seawater.ptmp(35.0, temperature, 1000.0)


@case("seawater", [33.0, 36.0])
def cp(seawater, salinity):
    return seawater.cp(salinity, 10.0, 1000.0)


@case("seawater", [30.0, 31.5, 32.0])
def dist(seawater, latitude):
    return seawater.dist(latitude, np.array([10.0, 11.0, 13.0]))[0]
