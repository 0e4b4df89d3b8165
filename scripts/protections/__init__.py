"""The protections that `check_protections` removes, each with the test that must then fail."""

from __future__ import annotations

from . import language_models, limits, network, pages, purchases, service
from .protection import Protection

__all__ = ["PROTECTIONS", "Protection"]

PROTECTIONS = (
    *purchases.PROTECTIONS,
    *limits.PROTECTIONS,
    *network.PROTECTIONS,
    *service.PROTECTIONS,
    *pages.PROTECTIONS,
    *language_models.PROTECTIONS,
)
