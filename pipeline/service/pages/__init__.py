"""The service's pages for people: accounts, keys, usage, statements and a form to try it."""

from pipeline.service.pages.errors import error_page
from pipeline.service.pages.rendering import render
from pipeline.service.pages.router import router
from pipeline.service.pages.site import PageLimits, page_limits

__all__ = [
    "PageLimits",
    "error_page",
    "page_limits",
    "render",
    "router",
]
