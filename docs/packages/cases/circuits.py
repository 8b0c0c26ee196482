"""Radio frequency, control and power: scikit-rf, control, pypower."""

import numpy as np

from docs.packages.case import case

S = np.array([[[0.1 + 0.2j, 0.7 - 0.1j], [0.7 - 0.1j, 0.3 - 0.2j]]])
B = np.array([[0.0], [1.0]])


def damped(stiffness):
    """Return the matrix of an oscillator."""
    return stiffness * np.array([[0.0, 0.0], [-1.0, 0.0]]) + np.array([[0.0, 1.0], [0.0, -0.4]])


@case("skrf.network", 0.8)
def s2z(network, scale):
    return network.s2z(scale * S).real


@case("skrf.network", 0.8)
def s2t(network, scale):
    return np.abs(network.s2t(scale * S))


@case("skrf.network", 0.8)
def connect_s(network, scale):
    return network.connect_s(scale * S, 1, S, 0).real


@case("skrf.network", 60.0)
def renormalize_s(network, impedance):
    return network.renormalize_s(S, 50.0, impedance).imag


@case("skrf.mathFunctions", [0.3, 0.9])
def complex_2_db(mathFunctions, amplitude):
    return mathFunctions.complex_2_db(amplitude * (1.0 + 0.5j))


@case("skrf.tlineFunctions", [60.0, 80.0])
def zl_2_Gamma0(tlineFunctions, load):
    return tlineFunctions.zl_2_Gamma0(50.0, load).real


@case("skrf.tlineFunctions", [0.3, 0.8])
def zl_2_zin(tlineFunctions, theta):
    return tlineFunctions.zl_2_zin(50.0, 80.0, 1j * theta).real


@case("skrf.tlineFunctions", [1e9, 2e9])
def skin_depth(tlineFunctions, f):
    return 1e6 * tlineFunctions.skin_depth(f, 1.7e-8, 1.0)


@case("skrf", 80.0, "Network.__pow__")
def cascaded(skrf, length):
    frequency = skrf.Frequency(1.0, 2.0, 3, "GHz")
    line = skrf.media.DefinedGammaZ0(frequency, gamma=1j * frequency.w / 3e8)
    network = line.line(length, "mm") ** line.load(0.3)
    return network.s.real


@case("skrf", 4.3, "MLine.z0")
def microstrip(skrf, permittivity):
    frequency = skrf.Frequency(1.0, 2.0, 3, "GHz")
    return skrf.media.MLine(frequency, w=3e-3, h=1.6e-3, t=35e-6, ep_r=permittivity).z0.real


@case("control", 2.0)
def lqr(control, stiffness):
    return control.lqr(damped(stiffness), B, np.eye(2), np.eye(1))[0]


@case("control", 2.0)
def lyap(control, stiffness):
    return control.lyap(damped(stiffness), np.eye(2))


@case("control", 2.0)
def ctrb(control, stiffness):
    return control.ctrb(damped(stiffness), np.array([[1.0], [0.5]]))


@case("control", 2.0, "StateSpace.frequency_response")
def response(control, stiffness):
    system = control.ss(damped(stiffness), B, np.array([[1.0, 0.0]]), np.zeros((1, 1)))
    return system(1.3j).real


@case("control", 2.0)
def dcgain(control, stiffness):
    return control.dcgain(control.tf([1.0], [1.0, 0.4, stiffness]))


@case("control", 2.0)
def forced_response(control, stiffness):
    system = control.ss(damped(stiffness), B, np.array([[1.0, 0.0]]), np.zeros((1, 1)))
    t = np.linspace(0.0, 2.0, 5)
    return control.forced_response(system, t, np.ones(5)).outputs


@case("control", 2.0)
def feedback(control, gain):
    return control.feedback(control.tf([gain], [1.0, 0.4, 1.0]), 1.0)(0.7j).real


@case("control", 2.0)
def acker(control, stiffness):
    return control.acker(damped(stiffness), B, [-1.0, -2.0])


@case("pypower.api", [0.4, 0.9])
def polycost(api, power):
    costs = np.array([[2.0, 0.0, 0.0, 3.0, 0.1, 5.0, 150.0], [2.0, 0.0, 0.0, 3.0, 0.2, 1.2, 600.0]])
    return api.polycost(costs, power)


@case("pypower.api", 0.06)
def makeYbus(api, reactance):
    grid = api.ext2int(api.case9())
    branch = np.array(grid["branch"])
    scaled = branch * np.where(np.arange(branch.shape[1]) == 3, reactance / 0.06, 1.0)
    return np.abs(api.makeYbus(100.0, grid["bus"], scaled)[0].toarray())


@case("pypower.api", [1.02, 0.99, 1.01, 1.0, 0.98, 1.01, 0.99, 1.0, 0.97])
def dSbus_dV(api, magnitude):
    grid = api.ext2int(api.case9())
    admittances = api.makeYbus(100.0, grid["bus"], grid["branch"])[0]
    return np.stack([m.toarray().real for m in api.dSbus_dV(admittances, magnitude + 0.1j)])
