"""A client of HTTP that stops reading a response that is too large, as httpx does not, however small it was packed."""

from __future__ import annotations

from typing import Any


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
            response.headers.pop("content-encoding", None)  # it is unpacked
            return Response(
                response.status_code, headers=response.headers, content=bytes(content), request=response.request
            )

    return LimitedClient()
