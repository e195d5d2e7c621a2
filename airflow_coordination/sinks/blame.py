"""Whose fault refusals are: what every record is refused for, with one reason, is no record's.

A closed index, a wanted header or a column that must not be null and is not written are answered for each record, as a
wrong date is. One such answer tells nothing. A whole bulk of them does, and so does a sink that took nothing at all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from airflow_coordination.sinks.protocol import Answer, AnswerKind

ENOUGH: Final = 10
"""Records of bulks that were refused as a whole, one after the other, after which nobody believes in chance."""
TOLD: Final = "it refuses every record for one reason, which is no record's fault: "
_OF_ONE_RECORD: Final = re.compile(r"""(?<!\w)'.*?'(?!\w)|"[^"]*"|\d+""")


def alike(reason: str) -> str:
    """Return a reason without what only one record has: what is quoted, and numbers."""
    return _OF_ONE_RECORD.sub("…", reason)


class Refusals:
    """What one sink has refused of one Spark task's records, bulk after bulk."""

    def __init__(self) -> None:
        self._reason, self._count = "", 0

    def are_the_sink_s(self, answers: Sequence[Answer]) -> bool:
        """Take a bulk's answers, and say whether their refusals are the sink's fault."""
        refused = [each for each in answers if each.kind is AnswerKind.REFUSED]
        reasons = {alike(each.reason) for each in refused}
        if len(refused) < len(answers) or len(reasons) != 1:
            self._reason, self._count = "", 0
            return False
        [reason] = reasons
        self._count = len(refused) + (self._count if reason == self._reason else 0)
        self._reason = reason
        return self._count >= ENOUGH
