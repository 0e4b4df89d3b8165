"""HTTP: bodies, errors and logs."""
