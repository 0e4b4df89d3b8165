"""Trains models from labelled texts."""
