"""Why a flow took its time: the events behind it, in order and in words.

The native module computes explanations (crates/explanation), for the lab as well. `record` gives it
the tables, `rerun` makes a record where a result has none, `parts` has the values that come back;
`api` joins them.
"""
