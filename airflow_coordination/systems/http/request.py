"""One POST: its address, and what its answer means."""

from __future__ import annotations

import base64
import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import SplitResult, urlsplit

from airflow_coordination.systems.patience import TransientError
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.scrubbing import HIDDEN, know

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
    told = _text_of(error)
    reason = f"{error.code} {error.reason}" + (f": {told}" if told else "")
    if error.code in _TRANSIENT or error.code >= 500:
        return TransientError(reason)
    return RequestRefusedError(error.code, reason)


def _text_of(error: urllib.error.HTTPError) -> str:
    """Return the beginning of an answer's text; nothing where it stalls or is cut, because the status has said all."""
    with error, suppress(OSError, http.client.HTTPException):
        return error.read(200).decode("utf-8", "replace").strip()
    return ""


_QUOTE: Final = "Write it as it is sent: urllib.parse.quote for a path, xn--… for a host's name"
_HEADER: Final = re.compile(r"[\x20-\x7e\xa0-\xff]*")


def know_headers(headers: object) -> None:
    """Remember the values of headers as secrets: as they are, and what stands behind their scheme, too.

    A server that refuses a token says which: without ``Bearer``, and of a user's name and password without ``Basic``.

    :raises InvalidInputError: for what is no mapping of texts that a header can hold; the message shows no value.
    """
    if not isinstance(headers, Mapping) or not all(isinstance(name, str) for name in headers):
        raise InvalidInputError("headers", HIDDEN, "is no mapping of names to texts", "Give headers={'Name': 'value'}")
    for name, value in headers.items():
        know(_secrets_in(value))
        if not isinstance(value, str) or not value.isprintable() or not _HEADER.fullmatch(value):
            problem = "is no text that a header can hold"
            remedy = "Give printable Latin text without a line's end; a token from a file wants strip()"
            raise InvalidInputError(f"headers[{name!r}]", HIDDEN, problem, remedy)


def _secrets_in(value: object) -> Iterator[str]:
    text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    yield from (text, text.strip(), *text.split(None, 1)[1:])
    with suppress(ValueError):  # no base 64
        user, _, password = (
            base64.b64decode(text.split()[-1] if text.split() else "", validate=True).decode().partition(":")
        )
        yield password or user


def check_address(url: str) -> None:
    """Refuse what is no address, cannot be sent, or holds a secret; the message shows nothing of it.

    :raises InvalidInputError: naming the rule.
    """
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except (AttributeError, TypeError, ValueError):
        good = False
    if not good:
        raise InvalidInputError("url", HIDDEN, "is no address of HTTP", "Give http://… or https://…")
    if parts.username or parts.password:
        problem = "holds a user's name or password"
        raise InvalidInputError("url", HIDDEN, problem, "Give headers={'Authorization': …} instead")
    if not all("!" <= character <= "~" for character in url):
        raise InvalidInputError("url", HIDDEN, "holds a space, or a letter that no URL may hold", _QUOTE)
    if not _can_be_found(parts):
        problem = "names a host or a port that cannot be"
        raise InvalidInputError("url", HIDDEN, problem, "Give http://host:port/…, with a port from 1 to 65535")


def _can_be_found(parts: SplitResult) -> bool:
    """Return whether the host's name can be looked up, and the port be asked."""
    try:
        (parts.hostname or "").encode("idna")
        return parts.port != 0
    except ValueError:
        return False
