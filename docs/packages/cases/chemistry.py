"""Chemical engineering: chemicals, thermo, fluids, ht."""

import numpy as np

from docs.packages.case import case

CRITICAL = ([190.56, 305.32], [4599000.0, 4872000.0], [0.011, 0.099])


@case("chemicals", 300.0)
def Antoine(chemicals, T):
    return chemicals.Antoine(T, 10.0, 1600.0, -40.0)


@case("chemicals", 300.0)
def Wagner(chemicals, T):
    return chemicals.Wagner(T, 562.0, 4.9e6, -7.0, 1.4, -2.6, -2.5)


@case("chemicals", 300.0)
def Rackett(chemicals, T):
    return 1e5 * chemicals.Rackett(T, 369.83, 4248000.0, 0.2763)


@case("chemicals", 300.0)
def Lee_Kesler(chemicals, T):
    return chemicals.Lee_Kesler(T, 617.0, 3.6e6, 0.3)


@case("chemicals", 300.0)
def BVirial_Tsonopoulos(chemicals, T):
    return 1e3 * chemicals.BVirial_Tsonopoulos(T, 425.0, 38e5, 0.193)


@case("chemicals", 300.0)
def mu_IAPWS(chemicals, T):
    return 1e3 * chemicals.mu_IAPWS(T, 998.0)


@case("chemicals", 647.35)
def k_IAPWS(chemicals, T):
    return chemicals.k_IAPWS(T, 122.0)


@case("chemicals", 300.0)
def iapws95_P(chemicals, T):
    return chemicals.iapws95_P(T, 1000.0)


@case("chemicals", 500.0)
def iapws97_rho(chemicals, T):
    return chemicals.iapws97_rho(T, 3e6)


@case("chemicals", [0.5, 0.3, 0.2])
def Rachford_Rice_solution(chemicals, zs):
    return chemicals.Rachford_Rice_solution([zs[0], zs[1], zs[2]], [1.685, 0.742, 0.532])[0]


@case("chemicals", 300.0)
def flash_wilson(chemicals, T):
    return chemicals.flash_wilson([0.4, 0.6], *CRITICAL, T=T * 0.8, P=3e6)[2]


@case("chemicals", [0.2, 0.3, 0.5])
def mixing_logarithmic(chemicals, fractions):
    return chemicals.mixing_logarithmic(fractions, np.array([1.0, 2.0, 4.0]))


@case("chemicals", 73.3)
def viscosity_index(chemicals, viscosity):
    return chemicals.viscosity_index(viscosity * 1e-6, 8.86e-6)


@case("thermo.eos", 300.0, "PR.V_g")
def peng_robinson(eos, T):
    return 1e3 * eos.PR(Tc=507.6, Pc=3025000.0, omega=0.2975, T=T, P=1e4).V_g


@case("thermo.eos", 300.0, "SRK.phi_l")
def soave(eos, T):
    return eos.SRK(Tc=507.6, Pc=3025000.0, omega=0.2975, T=T, P=1e6).phi_l


@case("thermo.eos", 2e5, "VDW.H_dep_g")
def van_der_waals(eos, P):
    return eos.VDW(Tc=507.6, Pc=3025000.0, T=400.0, P=P).H_dep_g


@case("thermo.eos_mix", 150.0, "PRMIX.fugacities_g")
def mixture(eos_mix, T):
    eos = eos_mix.PRMIX(
        T=T, P=1e6, Tcs=CRITICAL[0], Pcs=CRITICAL[1], omegas=CRITICAL[2], zs=[0.6, 0.4]
    )
    return eos.V_l * 1e5


@case("thermo.nrtl", [0.25, 0.75])
def NRTL_gammas(nrtl, xs):
    taus = [[0.0, 0.4], [0.6, 0.0]]
    alphas = [[0.0, 0.3], [0.3, 0.0]]
    return np.stack(nrtl.NRTL_gammas([xs[0], xs[1]], taus, alphas))


@case("thermo.wilson", [0.25, 0.75])
def Wilson_gammas(wilson, xs):
    return np.stack(wilson.Wilson_gammas([xs[0], xs[1]], [[1.0, 0.15], [0.8, 1.0]]))


@case("thermo.nrtl", 330.0, "NRTL.GE")
def excess(nrtl, T):
    mixture = nrtl.NRTL(
        T=T,
        xs=[0.3, 0.7],
        tau_as=[[0.0, 0.5], [-0.3, 0.0]],
        tau_bs=[[0.0, 300.0], [120.0, 0.0]],
        alpha_cs=[[0.0, 0.3], [0.3, 0.0]],
    )
    return mixture.GE()


@case("thermo.uniquac", [0.25, 0.75])
def UNIQUAC_gammas(uniquac, xs):
    taus = [[1.0, 0.7], [0.9, 1.0]]
    return np.stack(uniquac.UNIQUAC_gammas([xs[0], xs[1]], [2.1, 3.4], [1.9, 2.4], taus))


@case("thermo.unifac", 330.0)
def UNIFAC_gammas(unifac, T):
    return np.stack(unifac.UNIFAC_gammas(T, [0.5, 0.5], [{1: 2, 2: 4}, {1: 1, 2: 1, 18: 1}]))


@case("fluids", 1e5)
def friction_factor(fluids, Re):
    return 100.0 * fluids.friction_factor(Re, 1e-4)


@case("fluids", 1e5)
def Colebrook(fluids, Re):
    return 100.0 * fluids.Colebrook(Re, 1e-4)


@case("fluids", 0.4)
def Ergun(fluids, voidage):
    return fluids.Ergun(8e-4, voidage, 1e-3, 1e3, 1e-3)


@case("fluids", 145.0)
def isothermal_gas(fluids, flow):
    return fluids.isothermal_gas(11.3, 0.00185, P1=1e6, L=1000.0, D=0.5, m=flow)


@case("fluids", 0.6)
def Friedel(fluids, flow):
    return fluids.Friedel(flow, 0.1, 915.0, 2.67, 180e-6, 14e-6, 0.0487, 0.05)


@case("fluids", 0.6)
def Lockhart_Martinelli(fluids, flow):
    return fluids.Lockhart_Martinelli(flow, 0.1, 915.0, 2.67, 180e-6, 14e-6, 0.05)


@case("fluids", 7e-5)
def v_terminal(fluids, diameter):
    return fluids.v_terminal(diameter, 2600.0, 1000.0, 1e-3)


@case("fluids", 3000.0)
def drag_sphere(fluids, Re):
    return fluids.drag_sphere(Re)


@case("fluids", 0.05)
def C_Reader_Harris_Gallagher(fluids, diameter):
    return fluids.C_Reader_Harris_Gallagher(0.07391, diameter, 1.165, 1.85e-5, 0.12, "flange")


@case("fluids", 0.3, "bend_rounded")
def bend(fluids, radius):
    return fluids.bend_rounded(Di=0.1, angle=30.0, fd=0.0163, rc=radius)


@case("fluids", 5000.0, "ATMOSPHERE_1976")
def standard_atmosphere(fluids, height):
    return fluids.ATMOSPHERE_1976(height).rho


@case("fluids", 1.2, "TANK.V_from_h")
def tank(fluids, height):
    return fluids.TANK(D=3.0, L=5.0, horizontal=True, sideA="spherical", sideA_a=0.4).V_from_h(
        height
    )


@case("ht", 1e5)
def Nu_conv_internal(ht, Re):
    return ht.Nu_conv_internal(Re, 4.2)


@case("ht", 6071.0)
def Nu_cylinder_Churchill_Bernstein(ht, Re):
    return ht.Nu_cylinder_Churchill_Bernstein(Re, 0.7)


@case("ht", 100.0)
def LMTD(ht, Thi):
    return ht.LMTD(Thi, 60.0, 30.0, 40.2)


@case("ht", 2.5)
def effectiveness_from_NTU(ht, NTU):
    return ht.effectiveness_from_NTU(NTU, 0.7, "crossflow")


@case("ht", 0.6)
def NTU_from_effectiveness(ht, effectiveness):
    return ht.NTU_from_effectiveness(effectiveness, 0.7, "counterflow")


@case("ht", 4.9)
def Rohsenow(ht, Te):
    return ht.Rohsenow(957.854, 0.595593, 2.79e-4, 0.68, 4217.0, 2.257e6, 0.0589, Te=Te)


@case("ht", 0.1)
def Shah(ht, quality):
    return ht.Shah(1.0, quality, 0.3, 800.0, 1e-5, 0.6, 2300.0, 1e6, 2.2e7)


@case("ht", 800.0)
def blackbody_spectral_radiance(ht, T):
    return ht.blackbody_spectral_radiance(T, 4e-6)


@case("ht", 110.0)
def F_LMTD_Fakheri(ht, T):
    return ht.F_LMTD_Fakheri(130.0, T, 15.0, 85.0, 1)
