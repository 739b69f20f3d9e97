"""Reproduction of papers: plans, measures, claims and their verdicts, figures, and the report."""
