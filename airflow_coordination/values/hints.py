"""Hints: keys worth trying first, as short opaque strings that travel through XCom.

A hint carries the key, the token seen and the store's id (promise S18), and a checksum, so that a plain
partition key is never taken for one. Everything is percent-encoded: a hint holds nothing that Jinja, HTML
or a shell would interpret (promise X5).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

from airflow_coordination.values.errors import StoreMismatchError
from airflow_coordination.values.names import check_key

_PREFIX: Final = "hint:1"
LONGEST_HINT: Final = 16_384
"""Bytes; a key's every byte may be written as three."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A key worth trying, with the token that was seen; ``token`` is ``None`` for a bare key."""

    key: str
    token: int | None = None


def encode_hint(store_id: str, key: str, token: int) -> str:
    """Return the hint for ``key`` with ``token`` as seen in the store ``store_id``."""
    body = f"{_PREFIX}:{store_id}:{token}:{quote(key, safe='')}"
    return f"{body}:{zlib.crc32(body.encode()):08x}"


def decode_hint(text: str, store_id: str) -> Hint:
    """Return the hint in ``text``; any other text is a bare partition key.

    :raises StoreMismatchError: when the hint was made on another store.
    :raises InvalidKeyError: when the text cannot be a key either, or is none.
    """
    check_key(text, "hint", LONGEST_HINT)
    body, _, checksum = text.rpartition(":")
    if not body.startswith(f"{_PREFIX}:") or checksum != f"{zlib.crc32(body.encode('utf-8', 'replace')):08x}":
        return Hint(check_key(text, "hint"))
    _, _, made_on, token, key = body.split(":", 4)
    if made_on != store_id:
        raise StoreMismatchError(made_on, store_id, "The hint")
    return Hint(unquote(key), int(token))
