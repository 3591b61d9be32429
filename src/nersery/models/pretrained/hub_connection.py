"""Whether the Hugging Face hub can be reached, because transformers repeats its requests for a minute or longer."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

SECONDS = 10
"""How long to wait for an answer. A firewall that drops packets gives none."""
PORTS = {"http": 80, "https": 443}
"""The default ports of the hub and of proxies."""


def refuse_unreachable_hub(model: str) -> None:
    """Raise `OSError` for a model that is not on this computer if the hub, or the proxy to it, cannot be reached."""
    from huggingface_hub import constants

    cached = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}")
    if constants.HF_HUB_OFFLINE or Path(model).is_dir() or cached.exists():
        return
    hub = urlsplit(constants.ENDPOINT)
    proxies = {} if proxy_bypass(hub.hostname or "") else getproxies()
    proxy = proxies.get(hub.scheme) or proxies.get("all")
    address = urlsplit(proxy) if proxy else hub
    port = address.port or PORTS.get(address.scheme)
    if not address.hostname or not port:  # transformers reports a proxy that is not written as an address
        return
    try:
        socket.create_connection((address.hostname, port), SECONDS).close()
    except OSError as error:
        place = f"the proxy {address.hostname}:{port}" if proxy else address.hostname
        reason = error.strerror or error
        message = f"it is neither a folder nor in the cache, and {place} cannot be reached ({reason})"
        raise OSError(message) from None
