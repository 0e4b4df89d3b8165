"""The service's pages for people: accounts, keys, usage, statements and a form to try it."""

from pipeline.service.pages.rendering import render

__all__ = ["render"]
