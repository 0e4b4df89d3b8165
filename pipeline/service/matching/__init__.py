"""Answers calls: many at once, each charged by itself."""
