"""What becomes of a paper's claims where something is changed: readings, and robustness."""
