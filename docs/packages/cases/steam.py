"""Steam and water: iapws, pyXSteam."""

from docs.packages.case import case


@case("iapws", 500.0, "IAPWS97.h")
def enthalpy(iapws, temperature):
    return iapws.IAPWS97(T=temperature, P=1.0).h


@case("iapws", 2.0, "IAPWS97.rho")
def density(iapws, pressure):
    return iapws.IAPWS97(T=400.0, P=pressure).rho


@case("iapws", 0.4, "IAPWS97.T")
def saturated(iapws, quality):
    return iapws.IAPWS97(P=1.0, x=quality).h


@case("iapws.iapws97", 450.0)
def _PSat_T(iapws97, temperature):
    return iapws97._PSat_T(temperature)


@case("iapws._iapws", 400.0)
def _Viscosity(_iapws, temperature):
    return 1e6 * _iapws._Viscosity(900.0, temperature)


@case("iapws._iapws", 400.0)
def _Tension(_iapws, temperature):
    return _iapws._Tension(temperature)


@case("iapws._iapws", 400.0)
def _Dielectric(_iapws, temperature):
    return _iapws._Dielectric(900.0, temperature)


@case("pyXSteam.XSteam", 150.0, "XSteam.h_pt")
def h_pt(XSteam, temperature):
    return XSteam.XSteam(XSteam.XSteam.UNIT_SYSTEM_MKS).h_pt(2.0, temperature)


@case("pyXSteam.XSteam", 150.0, "XSteam.psat_t")
def psat_t(XSteam, temperature):
    return XSteam.XSteam(XSteam.XSteam.UNIT_SYSTEM_MKS).psat_t(temperature)


@case("pyXSteam.XSteam", 5.0, "XSteam.tsat_p")
def tsat_p(XSteam, pressure):
    return XSteam.XSteam(XSteam.XSteam.UNIT_SYSTEM_MKS).tsat_p(pressure)


@case("pyXSteam.XSteam", 200.0, "XSteam.s_pt")
def s_pt(XSteam, temperature):
    return XSteam.XSteam(XSteam.XSteam.UNIT_SYSTEM_MKS).s_pt(2.0, temperature)


@case("pyXSteam.XSteam", 120.0, "XSteam.my_pt")
def my_pt(XSteam, temperature):
    return 1e4 * XSteam.XSteam(XSteam.XSteam.UNIT_SYSTEM_MKS).my_pt(5.0, temperature)
