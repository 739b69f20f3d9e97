"""Files: whole ones, their hashes, result directories, parts of sweeps."""
