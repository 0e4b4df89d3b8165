"""Injects faults into the service by a script, and records what really happened."""
