"""Prepares texts: cleaning, negation, and the attribution of a code to words."""
