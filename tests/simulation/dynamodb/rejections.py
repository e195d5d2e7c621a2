"""What the engine refuses, as the service refuses it."""

from __future__ import annotations

from typing import Any

VALIDATION = "ValidationException"


class Rejected(Exception):
    """A request is refused.

    :param code: the service's.
    :param more: what else the answer holds, such as the item that refused.
    """

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.code, self.message, self.more = code, message, more


def invalid(message: str) -> Rejected:
    """Return the refusal of a request that is wrong in itself."""
    return Rejected(VALIDATION, message)


def no_table() -> Rejected:
    """Return the refusal of a request to a table that is not there."""
    return Rejected("ResourceNotFoundException", "Cannot do operations on a non-existent table")
