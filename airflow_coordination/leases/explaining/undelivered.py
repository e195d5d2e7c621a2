"""The error of a delivery that was not positive, as it is stored with a failed partition, in few words."""

from __future__ import annotations

import re
from typing import Final

from airflow_coordination.values.errors import first_line

_NEGATIVE: Final = re.compile(
    r"\A(?:NegativeAcknowledgmentError: )?Not every record of partition (?P<key>.*?) was delivered: (?P<problems>.*)"
    r"\. Nothing after the last save counts\. (?P<remedy>.*?)\.?\s*\Z",
    re.DOTALL,
)


def told(error: str | None, otherwise: str) -> str:
    """Return a stored error as a part of a sentence: of a failed delivery each sink, its number, and what to do.

    The partition is named already; the remedy stands even where the problems are too long to be told in full.

    :param otherwise: what to say where there is no error.
    """
    found = _NEGATIVE.match(error or "")
    if found is None:
        return first_line(error, otherwise)
    problems = first_line(found["problems"], otherwise)
    return f"not every record was delivered: {problems}. {first_line(found['remedy'], otherwise)}"
