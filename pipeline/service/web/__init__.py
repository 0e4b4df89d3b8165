"""The service's pages for people: accounts, keys, usage, statements and a form to try it."""

from pipeline.service.web.errors import error_page
from pipeline.service.web.router import router

__all__ = [
    "error_page",
    "router",
]
