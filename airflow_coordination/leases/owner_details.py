"""What an owner says of itself beside its name: a small JSON object, for people and links only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from airflow_coordination.leases.known_secrets import without_known

MAX_BYTES: Final = 512
"""It is stored with the partition, whose item costs DynamoDB users by the kilobyte."""


def details_of(facts: Mapping[str, str | int | None]) -> str | None:
    """Return the facts as they are stored, without what is unknown; ``None`` when nothing is left.

    What does not fit is left out from the end, and so is what is neither text nor number: nothing depends on it, and no
    write may fail for it. Known secrets are hidden, because it is shown to everybody who may look (promise X4).

    :param facts: short texts and numbers by name, the most useful first: ``application``, ``url``, ``process``.
    """
    plain = {name: value for name, value in facts.items() if isinstance(value, str | int) and value != ""}
    known = {name: without_known(value) if isinstance(value, str) else value for name, value in plain.items()}
    while known:
        text = json.dumps(known, ensure_ascii=True, separators=(",", ":"))
        if len(text) <= MAX_BYTES:
            return text
        known.popitem()
    return None


def facts_of(text: str | None) -> dict[str, Any]:
    """Return the stored facts; empty when there are none, or something else than an object is stored.

    Other software may have written it: a fact that is neither text nor number is left out, and half a character, which
    no answer of the board could hold, becomes a question mark.
    """
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return {}
    facts = found if isinstance(found, dict) else {}
    return {name: _whole(value) for name, value in facts.items() if isinstance(value, str | int)}


def _whole(value: str | int) -> str | int:
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
