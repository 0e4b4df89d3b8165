"""HTTP: bodies, errors, health and logs."""
