from __future__ import annotations

import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.errors import SettingsError
from pipeline.paid.client.urls import (
    BaseUrl,
    canonical,
    in_the_clear,
    key_fingerprint,
)


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ("https://host", "https://host"),
        ("https://host/", "https://host"),
        ("https://host/api", "https://host"),
        ("https://host/api/", "https://host"),
        ("https://host//api//", "https://host"),
        ("HTTPS://Host.Example:443/api/", "https://host.example"),
        ("http://host:80", "http://host"),
        ("http://host:443/", "http://host:443"),
        (" https://host:8443/Deep/Path/api\n", "https://host:8443/Deep/Path"),
        ("https://host/myapi", "https://host/myapi"),
        ("https://host/API", "https://host/API"),
        ("https://host/v 1", "https://host/v%201"),
        ("http://[::1]:8000/api", "http://[::1]:8000"),
        ("https://münchen.example/", "https://xn--mnchen-3ya.example"),
    ],
)
def test_an_address_is_written_one_way_only(given: str, written: str) -> None:
    assert canonical(given) == written


@pytest.mark.parametrize(
    "base_url",
    [
        "",
        "host",
        "//host",
        "https://",
        "ftp://host",
        "file:///etc/passwd",
        "https://host:99999",
        "https://host:0",
        "https://host:port",
        "https://[::1",
        "https://ho\nst",
        "https://\ud800",
        "https://xn--a\u00fc.example",
        "https://user:secret@host",
        "https://user:secret@ho\nst",
        "https://host?",
        "https://host/api?key=secret",
        "https://host/#secret",
    ],
)
def test_an_invalid_base_url_is_refused_without_showing_it(base_url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        canonical(base_url)
    assert "Give --base-url" in caught.value.hint
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@given(st.text())
def test_any_text_is_a_base_url_or_a_settings_error(text: str) -> None:
    for base_url in (text, f"https://{text}", f"https://host/{text}"):
        try:
            written = canonical(base_url)
        except SettingsError:
            continue
        assert written.isascii()
        assert not written.endswith("/")


@pytest.mark.parametrize(
    ("base", "exposed"),
    [
        ("https://host", False),
        ("http://host", True),
        ("http://10.0.0.1:8000", True),
        ("http://localhost.example", True),
        ("http://127.0.0.1.example", True),
        ("http://localhost:8000", False),
        ("http://api.localhost", False),
        ("http://127.8.9.10", False),
        ("http://[::1]:8000", False),
    ],
)
def test_plain_http_is_in_the_clear_unless_it_stays_on_this_machine(
    base: str, exposed: bool
) -> None:
    assert in_the_clear(BaseUrl(base)) is exposed


def test_a_fingerprint_tells_keys_apart_and_stays_the_same() -> None:
    assert key_fingerprint("one") == "863b0940f7d3"
    assert key_fingerprint("one") != key_fingerprint("two")
    assert key_fingerprint(None) == "demo"
