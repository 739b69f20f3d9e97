"""Reproduction of papers: plans, measures, claims and their verdicts, figures, and the report.

A paper is data in its folder, which this package interprets: `experiments.toml` (axes, constants,
grids of runs), `measures.toml` (claims by expression), `facts.toml` (numbers that texts quote) and
`figures.toml` (rows of tables, drawings). `declarations` reads them; what they say of runs, seed by
seed, `incastle.analysis.expressions` evaluates; `statistics` and `drawings` are what they may name.
Only what is a paper's own is Python in its folder.
"""
