"""Work on a Dask cluster: `dask` calls functions there; the other modules are these functions."""
