"""Ranks codes by the wording of their titles."""
