"""Finite elements, robots, atoms, rocks, galaxies: scikit-fem, modern_robotics, ase and others."""

import numpy as np

from docs.packages.case import case

SCREWS = np.array(
    [
        [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, -0.1, 0.0, 0.0],
        [0.0, 1.0, 0.0, -0.1, 0.0, 0.4],
    ]
).T
HOME = np.array([[1.0, 0, 0, 0.8], [0, 1.0, 0, 0], [0, 0, 1.0, 0.1], [0, 0, 0, 1.0]])
LINKS = np.stack([np.eye(4) + 0.1 * i * np.eye(4, k=3) for i in range(4)])
INERTIA = np.stack([np.diag([0.1, 0.2, 0.1, 1.5, 1.5, 1.5])] * 3)
ANGLES = [0.1, 0.4, -0.3]


@case("skfem", [0.4, 0.5], "BilinearForm.assemble")
def stiffness(skfem, conductivity):
    basis = skfem.Basis(skfem.MeshTri().refined(1), skfem.ElementTriP1())

    @skfem.BilinearForm
    def form(u, v, w):
        first, second = u.grad, v.grad
        return conductivity[0] * first[0] * second[0] + conductivity[1] * first[1] * second[1]

    return form.assemble(basis).toarray()


@case("skfem", 1.3, "LinearForm.assemble")
def load(skfem, strength):
    basis = skfem.Basis(skfem.MeshTri().refined(1), skfem.ElementTriP1())
    return skfem.LinearForm(lambda v, w: strength * w.x[0] * v).assemble(basis)


@case("skfem", [0.1, 0.3, -0.2, 0.4, 0.9], "Functional.assemble")
def energy(skfem, u):
    basis = skfem.Basis(skfem.MeshLine(np.linspace(0.0, 1.0, 5)), skfem.ElementLineP1())
    functional = skfem.Functional(lambda w: w["u"].grad[0] ** 2 + w["u"] ** 4)
    return functional.assemble(basis, u=basis.interpolate(u))


@case("skfem", [0.1, 0.3, -0.2, 0.4, 0.9], "Basis.interpolate")
def interpolate(skfem, u):
    basis = skfem.Basis(skfem.MeshLine(np.linspace(0.0, 1.0, 5)), skfem.ElementLineP1())
    return basis.interpolate(u).value


@case("modern_robotics", [0.3, 0.5, -0.2])
def MatrixExp3(mr, omega):
    return mr.MatrixExp3(mr.VecToso3(omega))


@case("modern_robotics", [0.3, 0.5, -0.2, 1.0, 2.0, 3.0])
def MatrixExp6(mr, twist):
    return mr.MatrixExp6(mr.VecTose3(twist))


@case("modern_robotics", [0.3, 0.5, -0.2])
def MatrixLog3(mr, omega):
    K = np.array([[0.0, -1.0, 0.5], [1.0, 0.0, -0.3], [-0.5, 0.3, 0.0]])
    rotation = np.eye(3) + np.sin(omega[0]) * K + omega[1] * K @ K
    return mr.MatrixLog3(rotation)


@case("modern_robotics", ANGLES)
def FKinSpace(mr, angles):
    return mr.FKinSpace(HOME, SCREWS, angles)


@case("modern_robotics", ANGLES)
def JacobianBody(mr, angles):
    return mr.JacobianBody(SCREWS, angles)


@case("modern_robotics", ANGLES)
def MassMatrix(mr, angles):
    return mr.MassMatrix(angles, LINKS, INERTIA, SCREWS)


@case("modern_robotics", ANGLES)
def InverseDynamics(mr, angles):
    gravity = np.array([0.0, 0.0, -9.8])
    rates = np.array([0.1, 0.2, 0.3])
    return mr.InverseDynamics(angles, rates, rates, gravity, np.zeros(6), LINKS, INERTIA, SCREWS)


@case("modern_robotics", ANGLES)
def ForwardDynamics(mr, angles):
    gravity = np.array([0.0, 0.0, -9.8])
    rates = np.array([0.1, 0.2, 0.3])
    return mr.ForwardDynamics(angles, rates, rates, gravity, np.zeros(6), LINKS, INERTIA, SCREWS)


@case("modern_robotics", 0.7)
def QuinticTimeScaling(mr, t):
    return mr.QuinticTimeScaling(2.0, t)


@case(
    "ase.calculators.lj",
    [[0.0, 0.0, 0.0], [1.1, 0.1, 0.0], [0.4, 1.0, 0.2]],
    "LennardJones",
    also=("ase",),
)
def lennard_jones(lj, ase, positions):
    atoms = ase.Atoms("Ar3", positions=positions)
    atoms.calc = lj.LennardJones()
    return atoms.get_potential_energy()


@case("ase.geometry", [[1.0, 0.1, 0.0], [0.4, 1.0, 0.2]])
def get_angles(geometry, vectors):
    return geometry.get_angles(vectors, np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.3]]))


@case("ase.eos", [10.2, 11.0, 11.9])
def birchmurnaghan(eos, volume):
    return eos.birchmurnaghan(volume, -5.0, 0.6, 4.2, 11.3)


@case("ase.units", 300.0, "create_units")
def boltzmann(units, temperature):
    return units.create_units("2014")["kB"] * temperature * 1e3


@case("bruges.reflection", 2400.0)
def zoeppritz_rpp(reflection, velocity):
    angles = np.array([5.0, 20.0])
    return reflection.zoeppritz_rpp(velocity, 1200.0, 2200.0, 2900.0, 1500.0, 2350.0, angles).real


@case("bruges.reflection", 2400.0)
def shuey(reflection, velocity):
    angles = np.array([5.0, 20.0])
    return reflection.shuey(velocity, 1200.0, 2200.0, 2900.0, 1500.0, 2350.0, angles).real


@case("bruges.reflection", 2400.0)
def akirichards(reflection, velocity):
    angles = np.array([5.0, 20.0])
    return reflection.akirichards(velocity, 1200.0, 2200.0, 2900.0, 1500.0, 2350.0, angles).real


@case("bruges.rockphysics", [2400.0, 2600.0])
def elastic_impedance(rockphysics, velocity):
    shear = np.array([1200.0, 1300.0])
    density = np.array([2200.0, 2250.0])
    return rockphysics.elastic_impedance(velocity, shear, density, 20.0)


@case("bruges.rockphysics.fluidsub", 2400.0)
def avseth_fluidsub(fluidsub, velocity):
    return np.stack(
        fluidsub.avseth_fluidsub(velocity, 1200.0, 2200.0, 0.2, 1000.0, 700.0, 36e9, 2.2e9, 1e9)[:2]
    )


@case("bruges.filters", 25.0)
def ricker(filters, frequency):
    return filters.ricker(0.1, 0.01, frequency, return_t=False)


@case("bruges.petrophysics", [2400.0, 2600.0])
def gardner(petrophysics, velocity):
    return petrophysics.gardner(velocity)


@case("colossus.cosmology.cosmology", 0.3, "Cosmology.Ez")
def expansion(cosmology, z):
    return cosmology.setCosmology("planck18", persistence="").Ez(z)


@case("colossus.cosmology.cosmology", [0.3, 1.1], "Cosmology.rho_c")
def critical_density(cosmology, z):
    return cosmology.setCosmology("planck18", persistence="").rho_c(z)


@case("colossus.halo.profile_nfw", [50.0, 200.0], "NFWProfile.density")
def nfw(profile_nfw, r):
    return profile_nfw.NFWProfile(rhos=1e7, rs=80.0).density(r)


@case("colossus.halo.profile_nfw", [50.0, 200.0], "NFWProfile.surfaceDensity")
def surface(profile_nfw, r):
    return profile_nfw.NFWProfile(rhos=1e7, rs=80.0).surfaceDensity(r)


@case("hankel", 1.2, "HankelTransform.integrate")
def hankel_transform(hankel, scale):
    transform = hankel.HankelTransform(nu=0, N=60, h=0.05)
    return transform.integrate(lambda x: x / (x**2 + scale), ret_err=False)


@case("sympy", 0.7, "lambdify")
def lambdified(sympy, x):
    symbol = sympy.Symbol("x")
    return sympy.lambdify(symbol, sympy.sin(symbol) * sympy.exp(-symbol), "numpy")(x)
