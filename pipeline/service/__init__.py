"""The embedded service: the interface's server on the embedded engine, to rehearse paid runs."""
