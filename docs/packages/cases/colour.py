"""Colour and optics: colour-science, tmm, miepython."""

import numpy as np

from docs.packages.case import case

RGB = [0.45, 0.31, 0.12]
XYZ = [0.21, 0.18, 0.05]


@case("colour", RGB)
def sRGB_to_XYZ(colour, rgb):
    return colour.sRGB_to_XYZ(rgb)


@case("colour", XYZ)
def XYZ_to_Lab(colour, xyz):
    return colour.XYZ_to_Lab(xyz)


@case("colour", XYZ)
def XYZ_to_Oklab(colour, xyz):
    return colour.XYZ_to_Oklab(xyz)


@case("colour", XYZ)
def XYZ_to_Luv(colour, xyz):
    return colour.XYZ_to_Luv(xyz)


@case("colour", RGB)
def RGB_to_HSV(colour, rgb):
    return colour.RGB_to_HSV(rgb)


@case("colour", XYZ)
def XYZ_to_xyY(colour, xyz):
    return colour.XYZ_to_xyY(xyz)


@case("colour.difference", [48.99, -0.1, -0.7])
def delta_E_CIE2000(difference, lab):
    return difference.delta_E_CIE2000(lab, np.array([50.65, -0.12, -0.85]))


@case("colour", [21.0, 18.0, 5.0])
def XYZ_to_CAM16(colour, xyz):
    return colour.XYZ_to_CAM16(xyz, np.array([95.05, 100.0, 108.88]), 318.31, 20.0).J


@case("colour.colorimetry", 5000.0)
def planck_law(colorimetry, temperature):
    return colorimetry.planck_law(np.array([500e-9, 600e-9]), temperature) * 1e-12


@case("colour.temperature", [0.31, 0.33])
def xy_to_CCT_McCamy1992(temperature, xy):
    return temperature.xy_to_CCT_McCamy1992(xy)


@case("colour", XYZ)
def chromatic_adaptation(colour, xyz):
    return colour.chromatic_adaptation(
        xyz, np.array([0.9505, 1.0, 1.0889]), np.array([1.0985, 1.0, 0.3558])
    )


@case("colour.models", RGB)
def eotf_inverse_sRGB(models, values):
    return models.eotf_inverse_sRGB(values)


@case("tmm", [100.0, 300.0])
def coh_tmm(tmm, thickness):
    layers = [np.inf, thickness[0], thickness[1], np.inf]
    return tmm.coh_tmm("p", [1.0, 2.2, 3.3 + 0.3j, 1.0], layers, 0.3, 400.0)["R"]


@case("tmm", [100.0, 300.0])
def unpolarized_RT(tmm, thickness):
    layers = [np.inf, thickness[0], thickness[1], np.inf]
    return tmm.unpolarized_RT([1.0, 2.2, 3.3 + 0.3j, 1.0], layers, 0.3, 400.0)["T"]


@case("tmm", [100.0, 300.0])
def ellips(tmm, thickness):
    layers = [np.inf, thickness[0], thickness[1], np.inf]
    return tmm.ellips([1.0, 2.2, 3.3 + 0.3j, 1.0], layers, 0.3, 400.0)["Delta"]


@case("tmm", 0.3)
def interface_R(tmm, angle):
    return tmm.interface_R("s", 1.0, 1.5, angle, np.arcsin(np.sin(angle) / 1.5))


@case("miepython", 2.3)
def single_sphere(miepython, x):
    return miepython.single_sphere(1.5 - 0.1j, x, 0, True)[0]


@case("miepython.rayleigh", 0.05)
def efficiencies_mx(rayleigh, x):
    return 1e3 * rayleigh.efficiencies_mx(1.5 - 0.1j, x)[0]
