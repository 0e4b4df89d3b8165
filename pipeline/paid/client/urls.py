"""Where the service is and whose account it serves, written in one way only."""

from __future__ import annotations

import ipaddress
from hashlib import sha256
from typing import NewType

from pipeline.answers import System
from pipeline.errors import SettingsError

__all__ = ["BaseUrl", "canonical", "checked_key", "in_the_clear", "key_fingerprint", "match_url"]

BaseUrl = NewType("BaseUrl", str)
"""A base URL as `canonical` writes it: no ``/api`` and no slash at its end."""

HINT = "Give --base-url an address such as https://service.example or http://localhost:8000."
DEFAULT_PORTS = {"http": ":80", "https": ":443"}
NO_KEY = "demo"


def canonical(base_url: str) -> BaseUrl:
    """Write a base URL the one way that the ledger and the limiter know it by.

    Scheme and host become lower case, a default port goes, and so do slashes and one ``/api``
    at the end: the interface may be addressed with or without them.

    Raises:
        SettingsError: it is no http(s) URL with a host, or has user info, a query or a fragment.
    """
    import httpx  # takes a quarter of a second, which a job without a service does not need

    try:
        url = httpx.URL(base_url.strip())
    except (httpx.InvalidURL, ValueError):  # its text may hold a password, so it is not chained
        raise SettingsError("The base URL cannot be read as a URL.", HINT) from None
    if url.scheme not in DEFAULT_PORTS or not url.host:
        raise SettingsError(
            "The base URL does not begin with https:// or http:// and a host.", HINT
        )
    if url.port is not None and not 0 < url.port < 65536:
        raise SettingsError("The base URL has a port that does not exist.", HINT)
    if url.userinfo or set("?#").intersection(base_url):
        raise SettingsError(
            "The base URL holds a user, a query or a fragment.",
            f"{HINT} The key goes into TENDER_PIPELINE_API_KEY or --api-key-file.",
        )
    host = url.netloc.decode("ascii").removesuffix(DEFAULT_PORTS[url.scheme])
    path = url.raw_path.decode("ascii").rstrip("/").removesuffix("/api").rstrip("/")
    return BaseUrl(f"{url.scheme}://{host}{path}")


def match_url(base_url: BaseUrl, system: System) -> str:
    """Return the address that matches texts to codes of one system."""
    return f"{base_url}/api/{system}/match"


def in_the_clear(base_url: BaseUrl) -> bool:
    """Tell whether key and texts would cross a network unencrypted."""
    import httpx

    url = httpx.URL(base_url)
    return url.scheme == "http" and not _is_this_machine(url.host)


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def checked_key(api_key: str) -> str:
    """Return a key that a header can carry.

    Raises:
        SettingsError: it is empty or holds characters that no header can; it is never shown.
    """
    if not api_key or not all("!" <= character <= "~" for character in api_key):
        raise SettingsError(
            "The API key is empty or holds spaces, line breaks or characters outside ASCII.",
            "Copy it anew from the account dashboard.",
        )
    return api_key


def key_fingerprint(api_key: str | None) -> str:
    """Return what names a key in files without giving it away; ``demo`` without a key.

    Raises:
        SettingsError: the key cannot stand in a header.
    """
    if api_key is None:
        return NO_KEY
    return sha256(b"tender-pipeline API key\0" + checked_key(api_key).encode()).hexdigest()[:12]
