"""Statistics, survival and volatility: statsmodels, lifelines, arch."""

import numpy as np

from docs.packages.case import case

X = np.array([[1.0, 0.2], [1.0, -0.7], [1.0, 1.1], [1.0, 0.4], [1.0, -1.3]])
COUNTS = np.array([1.0, 0.0, 4.0, 2.0, 1.0])
BINARY = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
SERIES = [0.3, -0.2, 0.8, 1.1, -0.6, 0.4, -0.9, 0.2]


@case("statsmodels.discrete.discrete_model", [0.2, 0.5], "Logit.loglike")
def logit(discrete_model, beta):
    return discrete_model.Logit(BINARY, X).loglike(beta)


@case("statsmodels.discrete.discrete_model", [0.2, 0.5], "Poisson.loglike")
def poisson(discrete_model, beta):
    return discrete_model.Poisson(COUNTS, X).loglike(beta)


@case("statsmodels.discrete.discrete_model", [0.2, 0.5], "Probit.loglikeobs")
def probit(discrete_model, beta):
    return discrete_model.Probit(BINARY, X).loglikeobs(beta)


@case("statsmodels.discrete.discrete_model", [0.2, 0.5, 0.8], "NegativeBinomial.loglike")
def negative_binomial(discrete_model, beta):
    return discrete_model.NegativeBinomial(COUNTS, X).loglike(beta)


@case("statsmodels.regression.linear_model", [0.2, 0.5], "OLS.loglike")
def ols(linear_model, beta):
    return linear_model.OLS(COUNTS, X).loglike(beta)


@case("statsmodels.regression.linear_model", [1.0, 0.3, 4.1, 2.2, 0.8], "OLS.fit")
def ols_fit(linear_model, y):
    return linear_model.OLS(y, X).fit().params


@case("statsmodels.genmod.families", [0.8, 1.7, 2.1, 0.4, 3.0], "Poisson.loglike")
def poisson_family(families, mu):
    return families.Poisson().loglike(COUNTS, mu)


@case("statsmodels.genmod.families", [0.8, 1.7, 2.1, 0.4, 3.0], "Gamma.deviance")
def gamma_family(families, mu):
    return families.Gamma().deviance(COUNTS + 0.5, mu)


@case("statsmodels.genmod.families.links", [0.2, 0.6], "Logit.__call__")
def logit_link(links, p):
    return links.Logit()(p)


@case("statsmodels.genmod.families.links", [0.2, 0.6], "CLogLog.inverse")
def cloglog(links, z):
    return links.CLogLog().inverse(z)


@case("statsmodels.robust.norms", [0.3, -2.2, 1.1], "HuberT.rho")
def huber(norms, z):
    return norms.HuberT().rho(z)


@case("statsmodels.robust.norms", [0.3, -2.2, 1.1], "TukeyBiweight.rho")
def biweight(norms, z):
    return norms.TukeyBiweight().rho(z)


@case("statsmodels.robust.scale", SERIES)
def mad(scale, x):
    return scale.mad(x)


@case("statsmodels.tsa.stattools", SERIES)
def acovf(stattools, x):
    return stattools.acovf(x, fft=False)


@case("statsmodels.tsa.stattools", SERIES)
def acf(stattools, x):
    return stattools.acf(x, nlags=3)


@case("statsmodels.tsa.arima_process", [0.5, -0.3])
def arma2ma(arima_process, p):
    one = np.ones(1)
    return arima_process.arma2ma(np.concatenate([one, p[:1]]), np.concatenate([one, p[1:]]), lags=6)


@case("statsmodels.stats.stattools", SERIES)
def durbin_watson(stattools, residuals):
    return stattools.durbin_watson(residuals)


@case("statsmodels.stats.stattools", SERIES)
def jarque_bera(stattools, residuals):
    return stattools.jarque_bera(residuals)[0]


@case("statsmodels.stats.power", 0.4)
def normal_power(power, effect):
    return power.normal_power(effect, 50.0, 0.05)


@case("statsmodels.stats.proportion", 0.4)
def proportion_effectsize(proportion, p):
    return proportion.proportion_effectsize(p, 0.5)


@case("statsmodels.stats.moment_helpers", [[2.0, 0.3], [0.4, 1.5]])
def cov2corr(moment_helpers, covariance):
    return moment_helpers.cov2corr(covariance)


@case("statsmodels.distributions.copula.api", 1.7, "ClaytonCopula.logpdf")
def clayton(api, theta):
    return api.ClaytonCopula().logpdf(np.array([[0.3, 0.6], [0.7, 0.2]]), args=(theta,))


@case("statsmodels.tools.eval_measures", SERIES)
def rmse(eval_measures, x):
    return eval_measures.rmse(x, np.arange(8.0))


@case("lifelines.fitters.weibull_fitter", [10.0, 1.3], "WeibullFitter._cumulative_hazard")
def weibull(weibull_fitter, p):
    return weibull_fitter.WeibullFitter()._cumulative_hazard(p, np.array([2.0, 5.0, 9.0]))


@case("lifelines.fitters.log_normal_fitter", [1.0, 0.8], "LogNormalFitter._cumulative_hazard")
def log_normal(log_normal_fitter, p):
    return log_normal_fitter.LogNormalFitter()._cumulative_hazard(p, np.array([2.0, 5.0, 9.0]))


@case("lifelines.fitters.log_logistic_fitter", [8.0, 1.4], "LogLogisticFitter._log_hazard")
def log_logistic(log_logistic_fitter, p):
    return log_logistic_fitter.LogLogisticFitter()._log_hazard(p, np.array([2.0, 5.0, 9.0]))


@case("lifelines.fitters.generalized_gamma_fitter", [1.0, 0.2, 0.7])
def GeneralizedGammaFitter(generalized_gamma_fitter, p):
    fitter = generalized_gamma_fitter.GeneralizedGammaFitter()
    return fitter._cumulative_hazard(p, np.array([2.0, 5.0, 9.0]))


@case("lifelines.fitters.weibull_fitter", [1.0, 1.3], "WeibullFitter._negative_log_likelihood")
def weibull_likelihood(weibull_fitter, p):
    durations = np.array([2.0, 5.0, 9.0])
    return weibull_fitter.WeibullFitter()._negative_log_likelihood_right_censoring(
        p, (durations, None), np.array([True, True, False]), np.zeros(3), np.ones(3)
    )


@case("lifelines.utils.safe_exp", [0.2, 1.3])
def safe_exp(safe_exp, x):
    return safe_exp.safe_exp(x)


@case("arch.univariate", [0.5, 0.1, 0.4, 0.8, 1.1, 0.6, 0.3, 0.9], "Normal.loglikelihood")
def normal(univariate, variance):
    return univariate.Normal().loglikelihood([], np.array(SERIES), variance)


@case("arch.univariate", 6.0, "StudentsT.loglikelihood")
def students(univariate, freedom):
    return univariate.StudentsT().loglikelihood(
        np.stack([freedom]), np.array(SERIES), np.full(8, 0.7)
    )


@case("arch.univariate", [0.1, 0.1, 0.8], "GARCH.compute_variance")
def garch(univariate, p):
    bounds = np.ones((8, 1)) * np.array([1e-6, 1e6])
    return univariate.GARCH().compute_variance(p, np.array(SERIES), np.zeros(8), 0.4, bounds)


@case("arch.univariate", 0.1, "ConstantMean.resids")
def constant_mean(univariate, mean):
    return univariate.ConstantMean(np.array(SERIES)).resids(np.stack([mean]))


@case("arch.univariate", [0.1, 0.1, 0.1, 0.8], "ConstantMean._loglikelihood")
def arch_likelihood(univariate, p):
    model = univariate.ConstantMean(np.array(SERIES), volatility=univariate.GARCH())
    bounds = np.ones((8, 1)) * np.array([1e-6, 1e6])
    return model._loglikelihood(p, np.zeros(8), 0.4, bounds)


@case("arch.univariate.recursions_python", [0.1, 0.1, 0.8])
def garch_recursion_python(recursions_python, p):
    bounds = np.ones((8, 1)) * np.array([1e-6, 1e6])
    squares = np.array(SERIES) ** 2
    signs = np.sign(np.array(SERIES))
    return recursions_python.garch_recursion_python(
        p, squares, signs, np.zeros(8), 1, 0, 1, 8, 0.4, bounds
    )
