"""Differences between two results, or between two reports: `incastle diff`.

`values` compares plain values, `results` two results, `reports` two reports, `draw` makes the
figures, `api` selects one of them.
"""
