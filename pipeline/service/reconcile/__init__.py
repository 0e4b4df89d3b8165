"""The Reconciliation API 0.2, with which OpenRefine matches a column to codes.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/
"""

from pipeline.service.reconcile.endpoints import reconcile_routes
from pipeline.service.reconcile.queries import AnyOrigin

__all__ = ["AnyOrigin", "reconcile_routes"]
