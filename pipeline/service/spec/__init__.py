"""Describes the API of a deployment, for people and programs."""
