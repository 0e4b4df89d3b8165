"""A paid answer is read whatever the coding of its body, and kept as it came if it cannot be."""

from __future__ import annotations

import gzip
import zlib

import pytest

from pipeline.paid.client.client import decompress

BODY = b'{"success": true, "data": []}' * 9
MOST = 1 << 20


def bare_deflate(body: bytes) -> bytes:
    packing = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packing.compress(body) + packing.flush()


@pytest.mark.parametrize(
    "content",
    [
        gzip.compress(BODY),
        gzip.compress(BODY) + b"padding",
        zlib.compress(BODY),
        bare_deflate(BODY),
        BODY,
    ],
    ids=["gzip", "padded", "zlib", "bare deflate", "decompressed by a proxy"],
)
def test_an_answer_is_read_in_each_form_that_its_coding_may_have(content: bytes) -> None:
    assert decompress(content, MOST) == BODY


@pytest.mark.parametrize(
    "content", [b"", b"\x1f\x8bdamaged", bare_deflate(BODY) + b"more", bare_deflate(BODY)[:-1]]
)
def test_a_body_that_cannot_be_decompressed_is_kept_as_it_came(content: bytes) -> None:
    assert decompress(content, MOST) == content


def test_of_a_body_that_is_cut_off_the_beginning_is_read() -> None:
    assert BODY.startswith(decompress(gzip.compress(BODY)[:-9], MOST))


def test_no_more_is_decompressed_than_asked_for() -> None:
    assert decompress(gzip.compress(b" " * 20), 11) == b" " * 11
