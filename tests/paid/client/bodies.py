"""Bodies of responses, of both forms and made to measure."""

from __future__ import annotations

import json

from pipeline.answers import Match

DETAILED = (
    b'{"success":true,"message":"API call successful","data":['
    b'{"code":"03111000","title":"Seeds","confidence":0.95,"codeType":"cpv","cost":9}],'
    b'"metadata":{"costBreakdown":{"apiCost":0.00010,"markupPercentage":5,'
    b'"markupAmount":0.000005,"finalCost":0.00010499999999999999,"currency":"USD"}}}'
)
COMPACT = (
    b'{"success":true,"message":"API call successful","data":['
    b'{"code":"03111000","title":"Seeds","confidence":0.95,"codeType":"cpv","cost":9}],'
    b'"metadata":{"cost":{"apiCost":0.00007}}}'
)
SEEDS = (Match("03111000", "Seeds", 0.95),)
NO_LIST = "the body has no list of matches"


def failure(error: str, status_text: str = "No.") -> bytes:
    return json.dumps({"success": False, "error": error, "message": status_text}).encode()


def priced(metadata: str) -> bytes:
    return b'{"success":true,"data":[],"metadata":%s}' % metadata.encode()


def with_items(*items: str) -> bytes:
    return b'{"success":true,"data":[%s]}' % ",".join(items).encode()
