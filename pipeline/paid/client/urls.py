"""Normalises base URLs, and names API keys by their fingerprint."""

from __future__ import annotations

import ipaddress
from hashlib import sha256
from typing import NewType

from pipeline.errors import SettingsError
from pipeline.wording import option

BaseUrl = NewType("BaseUrl", str)
"""A base URL as `canonical` writes it: no ``/api`` and no slash at its end."""

HINT = (
    f"Give {option('base_url')} an address such as https://service.example or "
    "http://localhost:8000."
)
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
NO_KEY = "demo"


def canonical(base_url: str, chat: bool = False) -> BaseUrl:
    """Return a base URL in the one form that the ledger and the limiter know.

    Scheme and host become lower case. A default port, and slashes and one ``/api`` at the end,
    are removed: the interface may be addressed with or without them. Of the address of a language
    model, ``/chat/completions`` is removed, and ``/api`` is not.

    Args:
        base_url: as the user writes it.
        chat: whether it is the address of a language model.

    Raises:
        SettingsError: it is not an http(s) URL with a host, or has a user, a query or a fragment.
    """
    import httpx  # takes a quarter of a second, which a job without a service does not need

    try:
        url = httpx.URL(base_url.strip())
    except (httpx.InvalidURL, ValueError):  # not chained: its text may contain a password
        raise SettingsError("The base URL cannot be read as a URL.", HINT) from None
    if url.scheme not in DEFAULT_PORTS or not url.host:
        raise SettingsError(
            "The base URL does not begin with https:// or http:// and a host.", HINT
        )
    if url.port is not None and not 0 < url.port < 65536:
        raise SettingsError("The base URL has a port that does not exist.", HINT)
    if url.userinfo or set("?#").intersection(base_url):
        raise SettingsError(
            "The base URL contains a user, a query or a fragment.",
            f"{HINT} Give the key as TENDER_PIPELINE_API_KEY or {option('api_key')}.",
        )
    host = url.netloc.decode("ascii").removesuffix(DEFAULT_PORTS[url.scheme])
    suffix = "/chat/completions" if chat else "/api"
    path = url.raw_path.decode("ascii").rstrip("/").removesuffix(suffix).rstrip("/")
    return BaseUrl(f"{url.scheme}://{host}{path}")


def in_the_clear(base_url: BaseUrl) -> bool:
    """Return whether the key and the texts would cross a network unencrypted."""
    import httpx

    url = httpx.URL(base_url)
    return url.scheme == "http" and not is_this_machine(url.host)


def is_this_machine(host: str) -> bool:
    """Return whether a host is a name or a loopback address of this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def key_fingerprint(api_key: str | None) -> str:
    """Return what names a key in files without revealing it; ``demo`` without a key."""
    if api_key is None:
        return NO_KEY
    return sha256(b"tender-pipeline API key\0" + api_key.encode()).hexdigest()[:12]
