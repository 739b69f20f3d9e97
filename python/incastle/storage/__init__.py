"""What is on the disk: whole files, their hashes, result directories, parts of sweeps."""
