"""One POST, and what its answer means."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Final

from airflow_coordination.sinks.patience import TransientError

_TRANSIENT: Final = frozenset({408, 425, 429})


class RequestRefusedError(Exception):
    """The other side does not take it, and will not in a moment.

    :param status: of the answer.
    :param reason: the answer in short.
    """

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(status, reason)
        self.status, self.reason = status, reason

    def __str__(self) -> str:
        return self.reason


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a POST would become a GET, and a page for logging in would be taken for a delivery."""

    def redirect_request(self, *_: object) -> None:
        return None


_OPENER: Final = urllib.request.build_opener(_NoRedirection)


def post(url: str, body: bytes, headers: Mapping[str, str], timeout: float) -> None:
    """Post ``body``; an answer from 200 to 299 says that it was taken.

    :param timeout: seconds for connecting, and for each wait for an answer.
    :raises TransientError: for what may be taken in a moment.
    :raises RequestRefusedError: for every other answer.
    """
    request = urllib.request.Request(url, body, dict(headers), method="POST")
    try:
        with _OPENER.open(request, timeout=timeout) as response:
            response.read()
    except urllib.error.HTTPError as error:
        raise _refusal(error) from error
    except (OSError, http.client.HTTPException) as error:
        raise TransientError(f"{type(error).__name__}: {error}") from error


def _refusal(error: urllib.error.HTTPError) -> TransientError | RequestRefusedError:
    with error:
        told = error.read(200).decode("utf-8", "replace").strip()
    reason = f"{error.code} {error.reason}" + (f": {told}" if told else "")
    if error.code in _TRANSIENT or error.code >= 500:
        return TransientError(reason)
    return RequestRefusedError(error.code, reason)
