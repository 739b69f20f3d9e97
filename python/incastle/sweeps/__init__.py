"""Many runs of one scenario: every combination of some keys' values, or a search among them.

`values` says what a list of values means, `plan` which runs follow from it, `dataset` how their
results lie on the disk and how they are found again, `outcome` and `measures` what is kept of a
run. `threads` and `on_dask` run what is missing, here or on a cluster; `work` puts all of it
together, `bisect` and `optimize` choose what to run next, `sweep` is what comes of it, `picture`
draws, and `api` is what a user calls.
"""
