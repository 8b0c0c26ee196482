"""Functions in ``scipy.stats`` that refuse traced arrays, with reasons and replacements."""

from __future__ import annotations

from typing import Final

_RANKS = (
    "It depends on ranks alone, which have no derivative. Where only the value is wanted, call it "
    "outside of what is differentiated."
)
_DRAWS = (
    "It calls a function again and again, or draws samples, which no trace sees. Write the loop "
    "with fd.vmap or fd.scan, of samples drawn before."
)
_SEARCH = (
    "It searches for the value that fits best. Give the value, lmbda= say, or solve the equation "
    "of the best one by fd.custom_root."
)
_COUNTS = (
    "It counts what falls into bins, which has no derivative. A statistic by bins of constant "
    "edges is np.add.at or a product with a matrix of zeros and ones."
)
_TABLES = (
    "Its result is looked up in tables, or summed over arrangements of whole numbers. Where only "
    "the value is wanted, call it outside of what is differentiated."
)
_VALUES = (
    "How many entries count depends on their values. Choose them by a mask, and use where= in "
    "NumPy's reductions."
)
_FITS = (
    "It fits a distribution, or compares one with a sample, step by step. Write the likelihood "
    "with the density, and differentiate that."
)

_OBJECTS = (
    "SciPy's infrastructure for it marks and fills entries of arrays by their values. Use the "
    "distribution objects, stats.norm say, whose methods take traced arrays."
)
_MAKERS = (
    "It makes a distribution of code or counts of the user's. Write its density as a function, "
    "and differentiate that."
)
_RANDOM = (
    "Its random matrices or tables depend on no real parameter. Draw them outside of what is "
    "differentiated."
)

REFUSED: Final = {
    "Binomial Logistic Mixture Normal Uniform abs exp log make_distribution order_statistic "
    "truncate": _OBJECTS,
    "rv_continuous rv_discrete rv_histogram": _MAKERS,
    "poisson_binom": (
        "SciPy computes it by compiled code. The masses are the coefficients of a product: "
        "functools.reduce(np.convolve, [np.stack([1 - q, q]) for q in p])."
    ),
    "multivariate_hypergeom ortho_group random_correlation random_table special_ortho_group "
    "uniform_direction unitary_group": _RANDOM,
    "ansari brunnermunzel bws_test chatterjeexi fligner friedmanchisquare kendalltau kruskal "
    "mannwhitneyu median_test mood page_trend_test percentileofscore rankdata ranksums somersd "
    "spearmanr spearmanrho tiecorrect weightedtau wilcoxon quantile_test": _RANKS,
    "bootstrap monte_carlo_test permutation_test power sobol_indices BootstrapMethod "
    "MonteCarloMethod PermutationMethod multiscale_graphcorr dunnett": _DRAWS,
    "boxcox_normmax boxcox_normplot yeojohnson_normmax yeojohnson_normplot ppcc_max "
    "ppcc_plot": _SEARCH,
    "binned_statistic binned_statistic_2d binned_statistic_dd cumfreq relfreq mode ecdf logrank "
    "CensoredData": _COUNTS,
    "barnard_exact binomtest boschloo_exact fisher_exact poisson_means_test shapiro "
    "tukey_hsd": _TABLES,
    "sigmaclip theilslopes": _VALUES,
    "estimated_cdf": (
        "Which entries are around a value is found by their values. Interpolate: "
        "np.interp(y, np.sort(x), levels), whose derivatives are known."
    ),
    "anderson anderson_ksamp cramervonmises cramervonmises_2samp epps_singleton_2samp fit "
    "goodness_of_fit ks_1samp ks_2samp kstest probplot": _FITS,
    "bayes_mvs mvsdist": (
        "Its intervals are those of distributions that it makes of numbers. Write mean and "
        "variance of the sample, and the quantiles of stats.t."
    ),
    "wasserstein_distance_nd": (
        "It solves a linear program, whose solution jumps. In one dimension there is "
        "stats.wasserstein_distance."
    ),
}
