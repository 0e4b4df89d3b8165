"""The Reconciliation API 0.2, with which OpenRefine matches a column to codes.

https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/
"""
