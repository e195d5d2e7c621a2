"""Whether a request that changes something was sent by our own page: a browser sends its cookie with others', too.

Airflow's cookie is ``SameSite=Lax``, which a page on a sister domain passes. So a header is asked for that no form can
send, and no other origin's script without being allowed to; and what the browser itself says of the sender must fit.
"""

from __future__ import annotations

from typing import Annotated, Final
from urllib.parse import urlsplit

from airflow.sdk import conf
from fastapi import Depends, Header, HTTPException, Request

__all__ = ["SAME_ORIGIN"]

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
