"""Functions along axes: sums, order statistics, histograms."""
