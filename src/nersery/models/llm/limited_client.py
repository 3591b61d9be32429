"""A client of HTTP that stops reading a response that is too large, however small it was packed."""

from __future__ import annotations

from typing import Any

_PACKING = ("content-encoding", "content-length", "transfer-encoding")


def limited_client(most_bytes: int) -> Any:
    """A client that refuses a response of more bytes with an error of the connection."""
    from httpx2 import ReadError, Request, Response
    from openai import DefaultHttpxClient

    class LimitedClient(DefaultHttpxClient):  # type: ignore[misc]
        def send(self, request: Request, **options: Any) -> Response:
            response = super().send(request, **{**options, "stream": True})
            content = bytearray()
            try:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > most_bytes:
                        raise ReadError(f"the response has more than {most_bytes:,} bytes", request=request)
            finally:
                response.close()
            headers = [(name, value) for name, value in response.headers.multi_items() if name not in _PACKING]
            return Response(
                response.status_code,
                headers=headers,
                content=bytes(content),
                request=response.request,
                extensions=response.extensions,
            )

    return LimitedClient()
