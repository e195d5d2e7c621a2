"""What has not changed since it was read is not sent again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute

STORE_TIME: Final = "Coordination-Store-Time"
"""The header with the store's clock. In the body it would make every answer another one."""
_HEADERS: Final = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}


class ConditionalRoute(APIRoute):
    """Gives what a GET answers a tag, and answers 304 to whoever has it already.

    The tag is computed from the body that this very user would get: it is found out anew each time, behind the same
    checks, so that nobody learns from it what the body would not say.
    """

    def get_route_handler(self) -> Callable[[Request], Awaitable[Any]]:  # type: ignore[override]
        """Return what FastAPI calls."""
        handler = super().get_route_handler()

        async def answer(request: Request) -> Response:
            response = await handler(request)
            return _conditional(request, response) if request.method == "GET" else response

        return answer


def _conditional(request: Request, response: Response) -> Response:
    if response.status_code != 200:
        return response
    tag = f'"{sha256(response.body).hexdigest()}"'
    headers = {**_HEADERS, "ETag": tag}
    if tag not in _known(request):
        response.headers.update(headers)
        return response
    if STORE_TIME in response.headers:
        headers[STORE_TIME] = response.headers[STORE_TIME]
    return Response(status_code=304, headers=headers)


def _known(request: Request) -> set[str]:
    """Return the tags that the request names; a proxy that compresses makes them weak."""
    named = ",".join(request.headers.getlist("if-none-match")).split(",")
    return {each.strip().removeprefix("W/") for each in named}
