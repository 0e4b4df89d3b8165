"""Trains the models that come with the package, from recipes; it is no part of the package."""
