"""A bulk end point over HTTP: each bulk is one POST of a JSON array."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from airflow_coordination.systems.http.request import RequestRefusedError, check_address, know_headers, post
from airflow_coordination.systems.patience import RETRY_FOR, TransientError, check_sink, patient
from airflow_coordination.systems.sink import (
    DELIVERED,
    Answer,
    AnswerKind,
    Guarantee,
    Record,
    SinkTask,
    SinkWriter,
    check_chosen,
    chosen,
    failed,
    record_json,
    refused,
)

ANSWER_WITHIN: Final = timedelta(seconds=30)
_RECORD_IS_TO_BLAME: Final = frozenset({400, 409, 413, 415, 422})
"""Other answers from 400 to 499 say that the request may not be made at all: they are nobody's record."""


@dataclass(frozen=True, slots=True)
class HttpSink:
    """Sends records to a URL: ``POST`` with a JSON array of them, ``Content-Type: application/json``.

    An answer from 200 to 299 delivers the whole bulk. 408, 425, 429, those from 500 on, and a cut or silent connection
    are repeated. 400, 409, 413, 415 and 422 refuse the bulk, which is halved until the records that are to blame stand
    alone. Whatever else comes back, a redirection too, means that nothing can be delivered there now: *failed*.

    *At least once*: a bulk whose answer was lost is sent again. The headers ``X-Lease-Partition`` and ``X-Lease-Fence``
    (its token) let the other side refuse owners that lost their lease.

    :param url: ``http://`` or ``https://``, without a user's name or password: give a header.
    :param where: an SQL condition; ``None`` for all records.
    :param headers: further headers, such as ``Authorization``. Their values are treated as secrets.
    :param bulk_records: how many records one request holds.
    :param columns: the columns that are written; ``None`` for all. Conditions see the others all the same.
    :param timeout: how long one request may take.
    :param retry_for: how long transient answers are repeated.
    :raises InvalidInputError: naming the argument that cannot be used.
    """

    url: str
    where: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    bulk_records: int = 500
    timeout: timedelta = ANSWER_WITHIN
    retry_for: timedelta = RETRY_FOR
    columns: tuple[str, ...] | None = None
    guarantee: Guarantee = field(default=Guarantee.AT_LEAST_ONCE, init=False)

    def __post_init__(self) -> None:
        check_address(self.url)
        know_headers(self.headers)
        check_sink(self.retry_for, self.bulk_records)
        check_sink(self.timeout, self.bulk_records, field="timeout")
        object.__setattr__(self, "columns", check_chosen(self.columns))

    def open(self, task: SinkTask) -> SinkWriter:
        """Return a writer; each bulk is a request of its own."""
        return HttpWriter(self, task)


class HttpWriter:
    """Posts bulks.

    :param sink: its settings.
    :param task: the Spark task.
    """

    def __init__(self, sink: HttpSink, task: SinkTask) -> None:
        self._sink = sink
        self._headers = {"Content-Type": "application/json", **sink.headers}
        self._headers |= {"X-Lease-Partition": _plain(task.partition_id), "X-Lease-Fence": str(task.token)}

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Post a bulk in as few requests as it takes."""
        answers: dict[int, Answer] = {}
        texts: dict[int, str] = {}
        for number, record in enumerate(records):
            try:
                texts[number] = record_json(chosen(record, self._sink.columns))
                texts[number].encode()
            except ValueError as error:
                answers[number] = refused(f"no JSON: {error}")
        answers |= dict(zip(texts, self._post(list(texts.values())), strict=True))
        return [answers[number] for number in range(len(records))]

    def close(self) -> None:
        """Nothing is left to do: a bulk that was answered is delivered."""

    def _post(self, texts: list[str]) -> list[Answer]:
        if not texts:
            return []
        try:
            answer = patient(self._sink.retry_for)(self._answer, texts)
        except TransientError as error:
            return [failed(str(error))] * len(texts)
        if answer is None:
            return [DELIVERED] * len(texts)
        if answer.kind is not AnswerKind.REFUSED or len(texts) == 1:
            return [answer] * len(texts)
        half = len(texts) // 2
        return self._post(texts[:half]) + self._post(texts[half:])

    def _answer(self, texts: list[str]) -> Answer | None:
        """Return why a bulk was not taken, ``None`` if it was.

        :raises TransientError: for what may be taken in a moment.
        """
        body = f"[{','.join(texts)}]".encode()
        try:
            post(self._sink.url, body, self._headers, self._sink.timeout.total_seconds())
        except RequestRefusedError as error:
            return refused(error.reason) if error.status in _RECORD_IS_TO_BLAME else failed(error.reason)
        return None


def _plain(text: str) -> str:
    """Return a text as a header can hold it."""
    return text.encode("ascii", "backslashreplace").decode().replace("\r", "\\r").replace("\n", "\\n")
