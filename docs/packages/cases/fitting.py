"""Fitting and uncertainty: lmfit, uncertainties, pyswarms' and pymoo's test functions, emcee."""

import numpy as np

from docs.packages.case import case

GRID = np.linspace(-2.0, 2.0, 5)


@case("lmfit.lineshapes", [2.0, 0.3, 0.8])
def gaussian(lineshapes, p):
    return lineshapes.gaussian(GRID, p[0], p[1], p[2])


@case("lmfit.lineshapes", [2.0, 0.3, 0.8])
def lorentzian(lineshapes, p):
    return lineshapes.lorentzian(GRID, p[0], p[1], p[2])


@case("lmfit.lineshapes", [2.0, 0.3, 0.8, 0.4])
def voigt(lineshapes, p):
    return lineshapes.voigt(GRID, p[0], p[1], p[2], p[3])


@case("lmfit.lineshapes", [2.0, 0.3, 0.8, 0.4])
def pvoigt(lineshapes, p):
    return lineshapes.pvoigt(GRID, p[0], p[1], p[2], p[3])


@case("lmfit.lineshapes", [2.0, 0.3, 0.8, 1.4])
def pearson7(lineshapes, p):
    return lineshapes.pearson7(GRID, p[0], p[1], p[2], p[3])


@case("lmfit.lineshapes", [2.0, 0.3, 0.8, 0.4])
def skewed_gaussian(lineshapes, p):
    return lineshapes.skewed_gaussian(GRID, p[0], p[1], p[2], p[3])


@case("lmfit.lineshapes", [2.0, 0.3, 0.8, 0.4])
def doniach(lineshapes, p):
    return lineshapes.doniach(GRID, p[0], p[1], p[2], p[3])


@case("lmfit.models", [2.0, 0.3, 0.8], "GaussianModel.eval")
def gaussian_model(models, p):
    return models.GaussianModel().eval(x=GRID, amplitude=p[0], center=p[1], sigma=p[2])


@case("lmfit", 0.8, "Parameters.valuesdict")
def valuesdict(lmfit, decay):
    parameters = lmfit.Parameters()
    parameters.add("decay", value=decay, min=0.0)
    return np.exp(-GRID * parameters.valuesdict()["decay"])


@case("uncertainties", [1.2, 0.1], "ufloat")
def propagated(uncertainties, p):
    x = uncertainties.ufloat(p[0], p[1])
    return (x * x + 2.0 * x).std_dev


@case("uncertainties.umath", 0.7, "sin", also=("uncertainties",))
def umath_sin(umath, uncertainties, x):
    return umath.sin(uncertainties.ufloat(x, 0.1)).nominal_value


@case("pyswarms.utils.functions.single_obj", [[0.3, 0.8], [1.2, -0.4]])
def rosenbrock(single_obj, x):
    return single_obj.rosenbrock(x)


@case("pyswarms.utils.functions.single_obj", [[0.3, 0.8], [1.2, -0.4]])
def ackley(single_obj, x):
    return single_obj.ackley(x)


@case("pymoo.problems.single", [[0.3, 0.8], [1.2, -0.4]], "Griewank.evaluate")
def griewank(single, x):
    return single.Griewank(n_var=2).evaluate(x)


@case("pymoo.problems.single", [0.3, 0.8], "Himmelblau.evaluate")
def himmelblau(single, x):
    return single.Himmelblau().evaluate(x)


@case("pymoo.problems.multi", [0.3, 0.4, 0.5], "ZDT1.evaluate")
def zdt1(multi, x):
    return multi.ZDT1(n_var=3).evaluate(x)


@case("emcee.autocorr", [0.1, 0.7, -0.4, 1.2, 0.9, -0.3])
def function_1d(autocorr, x):
    return autocorr.function_1d(x)
