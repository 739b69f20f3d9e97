"""Comparisons of other worlds with the simulator: `incastle validate-worlds`.

`cases` has the scenarios, `measures` what is compared, `campaign` runs them and keeps what is
finished, `verdicts` judges, `tables` prints, `figure` draws, `command` is the command line.
"""
