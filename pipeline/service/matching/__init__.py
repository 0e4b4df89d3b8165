"""Answers calls, in batches, and charges for each."""
