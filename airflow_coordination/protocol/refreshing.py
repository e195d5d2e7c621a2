"""The payload of a partition that was reset: what its supplier offers now takes the place of what was stored first.

A payload says which version of an object a partition is made of. Whoever resets one because its object was written
again wants the version that is there now, and until somebody has held it nothing was read by the old one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Outdated:
    """A partition that was reset, was held by nobody since, and of which another payload is offered now.

    :param key: its key.
    :param generation: that the reset has begun.
    :param payload_text: what is stored, as it is stored.
    """

    key: str
    generation: str
    payload_text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """Give a partition that was reset another payload, if nobody has held it since. No chain write.

    It names the generation and the payload as they were seen: whoever acquires first, resets again or has refreshed it
    meanwhile wins, and what arrives late does nothing.

    :param generation: that the reset has begun.
    :param seen: the payload that was stored then.
    :param payload_text: the one in its place, encoded and checked.
    """

    source: str
    key: str
    generation: str
    seen: str | None
    payload_text: str | None
