"""Comparison with results of another simulator, flow by flow.

`cases` reads a folder of cases of HPCC's ns-3 simulator, `records` the tables in it. `simulate` has
them simulated here. `compare` measures one case, `goals` reads the goals of each kind of case,
`verdicts` judges all cases of a layout and a control together, `tables` prints that.
"""
