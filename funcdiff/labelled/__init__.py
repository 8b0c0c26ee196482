"""Arrays with labels: xarray's hold traced arrays as they are, pandas' tables columns of them."""
