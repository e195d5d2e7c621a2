"""What an owner says of itself beside its name: a small JSON object, for people and links only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

MAX_BYTES: Final = 512
"""It is stored with the partition, whose item costs DynamoDB users by the kilobyte."""


def details_of(facts: Mapping[str, str | int | None]) -> str | None:
    """Return the facts as they are stored, without what is unknown; ``None`` when nothing is left.

    What does not fit is left out from the end: nothing depends on it, and no write may fail for it.

    :param facts: short texts and numbers by name, the most useful first: ``application``, ``url``, ``process``.
    """
    known = {name: value for name, value in facts.items() if value not in (None, "")}
    while known:
        text = json.dumps(known, ensure_ascii=True, separators=(",", ":"))
        if len(text) <= MAX_BYTES:
            return text
        known.popitem()
    return None


def facts_of(text: str | None) -> dict[str, Any]:
    """Return the stored facts; empty when there are none, or something else than an object is stored."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
