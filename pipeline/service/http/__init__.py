"""The service's door: HTTP, limits, errors and logs."""
