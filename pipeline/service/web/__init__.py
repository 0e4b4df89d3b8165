"""The service's pages: sign-up, keys, usage, statements and a form to try it."""

from pipeline.service.web.rendering import error_page
from pipeline.service.web.router import routes

__all__ = ["error_page", "routes"]
