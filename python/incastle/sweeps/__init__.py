"""Many runs of one scenario: every combination of some keys' values, or a search among them.

`api` is what a user calls. `values` reads lists of values, `plan` makes runs of them, `work` does
the runs that are missing and `threads` does them here; `incastle.cluster.sweeps` does them on a
cluster. `bisect` and `optimize` choose what to run next. `dataset` stores results, `sweep` gives
them back.
"""
