"""Work on a Dask cluster: `dask` calls functions there, the other modules say which ones."""
