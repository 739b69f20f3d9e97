"""Figures: one style (`style`), and one module for each thing that is drawn."""
