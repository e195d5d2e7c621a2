"""Telling somebody by HTTP that a partition has ended."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Final

from airflow_coordination.protocol.follow_up import Carried, FollowUpError, Place
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.systems.http.request import RequestRefusedError, check_address, post
from airflow_coordination.systems.patience import TransientError, patient
from airflow_coordination.values.documents import parse
from airflow_coordination.values.input_errors import InvalidInputError

_ANSWER_WITHIN: Final = 30.0
_MAX_BYTES, _MAX_DEPTH = 8 * 1024 * 1024, 32
_RETRY_FOR: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class CallUrl:
    """Posts ``{"source": …, "partition": …, "body": …}`` as JSON to a URL; an answer from 200 to 299 is done.

    It may be called twice, so the other side has to take the same words for the same thing. There is no place for a
    secret here, because the store keeps it all: let the network or a proxy say who is asking.

    :param url: ``http://`` or ``https://``, without a user's name or password.
    :param body: what else to say, as JSON.
    :raises InvalidInputError: when the URL cannot be used, or the body is no JSON.
    """

    url: str
    body: Any = None
    partition: tuple[str, str] | None = field(default=None, repr=False)
    kind: ClassVar[str] = "call url"

    def __post_init__(self) -> None:
        check_address(self.url)
        try:
            parse(json.dumps(self.body, allow_nan=False), max_bytes=_MAX_BYTES, max_depth=_MAX_DEPTH)
        except (TypeError, ValueError, RecursionError) as error:
            problem, remedy = f"is no JSON ({error})", "Give texts, numbers, lists, and objects of them"
            raise InvalidInputError("body", self.body, problem, remedy) from error

    def pinned(self, partition: Partition) -> CallUrl:
        """Return the call for a partition."""
        return CallUrl(self.url, self.body, (partition.source, partition.key))

    def to_json(self) -> dict[str, Any]:
        """Return what is posted, and where."""
        return {"url": self.url, "body": self.body, "partition": self.partition}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> CallUrl:
        """Return the call that was noted."""
        return cls(found["url"], found["body"], tuple(found["partition"]))

    def places(self) -> tuple[Place, ...]:
        """Return the URL."""
        return (Place("urls", self.url),)

    def carry_out(self) -> Carried:
        """Post it.

        :raises FollowUpError: when the answer is another one.
        """
        source, key = self.partition or ("", "")
        content = json.dumps({"source": source, "partition": key, "body": self.body}).encode()
        headers = {"Content-Type": "application/json"}
        try:
            patient(_RETRY_FOR)(post, self.url, content, headers, _ANSWER_WITHIN)
        except (TransientError, RequestRefusedError) as error:
            remedy = "Look whether it takes a POST of JSON from here"
            raise FollowUpError(f"call {self.url}", str(error), remedy) from error
        return Carried(1)
