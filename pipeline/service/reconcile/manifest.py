"""Describes a reconciliation service to its clients."""

from __future__ import annotations

from typing import Any

from pipeline.answers import System
from pipeline.service.http.paths import RECONCILE
from pipeline.service.reconcile.catalogue import Catalogue
from pipeline.service.spec.terms import SYSTEM_NAMES
from pipeline.versions import VERSIONS

__all__ = ["service_manifest"]

IDENTIFIERS: dict[System, str] = {
    "cpv": "http://data.europa.eu/cpv/cpv/",
    "psc": "https://www.acquisition.gov/psc-manual",
    "unspsc": "https://www.ungm.org/Public/UNSPSC",
    "naics": "https://www.census.gov/naics/",
}
"""A URI for the codes of each system, the same wherever the service runs."""

WIDTH, HEIGHT = 430, 300
"""The size of a preview, pixels."""


def service_manifest(codes: Catalogue, base_url: str, most: int) -> dict[str, Any]:
    """Return the manifest of a system's service; a batch has at most `most` queries.

    Its addresses have no key, as previews, suggestions and extensions need none.
    """
    path = f"{RECONCILE}/{codes.system}"
    preview = {"url": f"{base_url}{path}/preview?id={{{{id}}}}"}
    suggest = {
        kind: {"service_url": base_url, "service_path": f"{path}/suggest/{kind}"}
        for kind in ("entity", "property", "type")
    }
    suggest["entity"]["flyout_service_url"] = base_url
    suggest["entity"]["flyout_service_path"] = f"{path}/flyout?id=${{id}}"
    properties = {"service_url": base_url, "service_path": f"{path}/properties"}
    return {
        "versions": ["0.2"],
        "name": f"{codes.system.upper()}: {SYSTEM_NAMES[codes.system]}",
        "identifierSpace": IDENTIFIERS[codes.system],
        "schemaSpace": IDENTIFIERS[codes.system],
        "documentation": f"{base_url}/docs",
        "serviceVersion": VERSIONS["tender-pipeline"],
        "defaultTypes": [codes.any_code],
        "batchSize": most,
        "view": preview,
        "preview": {**preview, "width": WIDTH, "height": HEIGHT},
        "suggest": suggest,
        "extend": {"propose_properties": properties, "property_settings": []},
    }
