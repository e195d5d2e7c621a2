"""Requests to the API: who asks, from which page, and whether what they ask for has changed.

A mounted application is open unless it says otherwise. Of Airflow's dependencies only those work in it that do not read
the state of the application they run in: this one does, ``ReadableDagsFilterDep`` and ``AuthManagerDep`` do not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from airflow.api_fastapi.core_api.security import GetUserDep, get_user
from airflow.providers.common.compat.sdk import conf
from fastapi import Depends, Header, HTTPException, Request, Response
from fastapi.routing import APIRoute

__all__ = ["AUTHENTICATED", "SAME_ORIGIN", "User"]


User = GetUserDep
"""A route's argument of this type is the user of the request's token: its bearer header, otherwise its cookie."""
AUTHENTICATED: Final = Depends(get_user)
"""Given to the whole application: without a token every route answers 401, with one that is not Airflow's 403."""


_NAME: Final = "X-Coordination-Action"
_REFUSED: Final = "This request changes something and was not sent by Airflow's own page: {}. Nothing was changed."


def _check(
    request: Request,
    action: Annotated[str | None, Header(alias=_NAME, description="1, so that no other site can send this")] = None,
) -> None:
    if action != "1":
        raise HTTPException(403, _REFUSED.format(f"it lacks the header {_NAME}: 1"))
    sender = request.headers.get("sec-fetch-site")
    if sender is not None:  # the browser's own word, which no page can change
        if sender != "same-origin":
            raise HTTPException(403, _REFUSED.format(f"the browser calls its sender {sender}"))
    elif (origin := request.headers.get("origin")) is not None and _place(origin) not in _here(request):
        raise HTTPException(403, _REFUSED.format("its origin is another one"))


def _place(url: str) -> str:
    """Return host and port of an address; nothing where it is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _here(request: Request) -> set[str]:
    """Return where this page is, as the browser knows it: a proxy may have changed what the request says."""
    configured = _place(conf.get("api", "base_url", fallback="") or "")
    return {place for place in (request.headers.get("host"), configured) if place}


SAME_ORIGIN: Final = Depends(_check)
"""Given to every route that changes something."""


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
