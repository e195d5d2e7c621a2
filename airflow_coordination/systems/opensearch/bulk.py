"""Bulks on their way to OpenSearch, and what its answers mean, record by record.

A document is written with the fence's token as its version (``external_gte``): in one step, the primary shard refuses
(409) what is older. Such a version alone would also keep out a record that comes from another partition, or from a new
store, whose tokens begin at 1. So after a 409 the fence inside the document is looked at: only one of the same
partition with a later token keeps a record out. Any other document is replaced on condition that it is still the one
that was looked at (``if_seq_no``). A version only ever grows, and is never below the token inside, so the first way
stays shut for owners that lost their lease.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from airflow_coordination.systems.patience import TransientError, patient
from airflow_coordination.systems.sink import DELIVERED, Answer, Record, SinkTask, chosen, failed, record_json, refused

SUPERSEDED: Final = "a later owner of this partition has written this record already"
_LONGEST_ID: Final = 512
"""Bytes of an ``_id``; a longer one would have OpenSearch refuse the whole bulk."""
_DELETED: Final = (
    "409 a document under its _id was deleted a moment ago, which OpenSearch remembers for index.gc_deletes"
)
"""To create one beside that memory could give it a version below its token."""
_TRANSIENT: Final = frozenset({408, 425, 429})
_OF_THE_INDEX: Final = ("index_closed_exception", "routing_missing_exception", "pipeline with id [")
"""What 400 also says, to every record: it is closed, it wants a routing, its pipeline is gone."""
_TOO_LARGE: Final = 413
_CONFLICT: Final = 409


class OpenSearchWriter:
    """Writes bulks.

    :param client: of opensearch-py.
    :param index: where to.
    :param task: the Spark task.
    :param fence_fields: of partition and token.
    :param retry_for: how long transient answers are repeated.
    :param columns: what is in a document of its record; ``None`` for all.
    """

    def __init__(
        self,
        client: Any,
        index: str,
        task: SinkTask,
        *,
        fence_fields: tuple[str, str],
        retry_for: timedelta,
        columns: Sequence[str] | None = None,
    ) -> None:
        self._columns = columns
        self._client, self._index, self._task, self._retry_for = client, index, task, retry_for
        self._partition_field, self._token_field = fence_fields

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        """Write a bulk in as few requests as it takes.

        Two records of a bulk with one id are not told apart by OpenSearch's version: the last one stays.
        """
        answers: dict[int, Answer] = {}
        documents: dict[int, _Document] = {}
        for number, record in enumerate(records):
            try:
                documents[number] = self._document(record)
            except ValueError as error:
                answers[number] = refused(str(error))
        answers |= self._write(documents)
        return [answers[number] for number in range(len(records))]

    def close(self) -> None:
        """Let the connection go; what was answered is safe already."""
        self._client.close()

    def _document(self, record: Record) -> _Document:
        task = self._task
        try:
            fence = {self._partition_field: task.partition_id, self._token_field: task.token}
            return _Document(_id_of(record[task.key]), record_json({**chosen(record, self._columns), **fence}).encode())
        except ValueError as error:
            raise ValueError(f"no document: {error}") from error

    def _write(self, documents: dict[int, _Document]) -> dict[int, Answer]:
        if not documents:
            return {}
        answers: dict[int, Answer] = {}
        waiting = dict(documents)

        def once() -> None:
            """Send what has no answer yet, which leaves fewer."""
            self._round(waiting, answers)
            if waiting:
                raise TransientError(next(iter(waiting.values())).reason)

        try:
            patient(self._retry_for)(once)
        except TransientError as error:
            answers |= {number: failed(each.reason or str(error)) for number, each in waiting.items()}
        except _BulkTooLarge as error:
            answers |= self._halved(waiting, str(error))
        except _NotUnderstood as error:
            answers |= dict.fromkeys(waiting, failed(str(error)))
        return answers

    def _halved(self, waiting: dict[int, _Document], reason: str) -> dict[int, Answer]:
        """Write a bulk that is too large in two; a record that is too large alone is refused."""
        if len(waiting) == 1:
            return dict.fromkeys(waiting, refused(reason))
        pairs, half = list(waiting.items()), len(waiting) // 2
        return self._write(dict(pairs[:half])) | self._write(dict(pairs[half:]))

    def _round(self, waiting: dict[int, _Document], answers: dict[int, Answer]) -> None:
        """Ask for all that wait, look at what keeps some out, and ask for these again."""
        self._settle(waiting, answers, self._bulk(list(waiting.values()), self._fenced))
        conflicts = {number: each for number, each in waiting.items() if each.conflict}
        if not conflicts:
            return
        replaced: dict[int, _Document] = {}
        for (number, document), found in zip(conflicts.items(), self._look(list(conflicts.values())), strict=True):
            document.found = found
            if not found.get("found"):
                document.reason = _DELETED
            elif self._is_later(found):
                answers[number] = failed(SUPERSEDED)
                del waiting[number]
            else:
                replaced[number] = document
        if replaced:
            before = dict(replaced)
            self._settle(replaced, answers, self._bulk(list(replaced.values()), _replacing))
            for number in before.keys() - replaced.keys():
                del waiting[number]

    def _settle(
        self, waiting: dict[int, _Document], answers: dict[int, Answer], told: Sequence[tuple[int, str]]
    ) -> None:
        """Take the answers that are final; what is left may go well in a moment, or is a conflict."""
        for (number, document), (status, reason) in zip(list(waiting.items()), told, strict=True):
            document.conflict, document.reason = status == _CONFLICT, reason
            if document.conflict or status in _TRANSIENT or status >= 500:
                continue
            answers[number] = _final(status, reason)
            del waiting[number]

    def _bulk(self, documents: list[_Document], action: Callable[[_Document], dict[str, Any]]) -> list[tuple[int, str]]:
        """Return status and reason of each document.

        :raises _NotUnderstood: for an answer that is not one for each document, in their order.
        """
        lines = [line for each in documents for line in (json.dumps(action(each)).encode(), each.body)]
        answer = self._asked(lambda: self._client.bulk(index=self._index, body=b"\n".join([*lines, b""]).decode()))
        items = answer.get("items") if isinstance(answer, Mapping) else None
        if not isinstance(items, list) or len(items) != len(documents):
            count = len(items) if isinstance(items, list) else 0
            raise _NotUnderstood(f"OpenSearch answered for {count} of {len(documents)} records")
        return [_told(item, document) for item, document in zip(items, documents, strict=True)]

    def _fenced(self, document: _Document) -> dict[str, Any]:
        return {"index": {"_id": document.id, "version": self._task.token, "version_type": "external_gte"}}

    def _look(self, documents: list[_Document]) -> list[Mapping[str, Any]]:
        """Return the documents that keep ours out, with nothing of them but the fence."""
        answer = self._asked(
            lambda: self._client.mget(
                index=self._index,
                body={"ids": [each.id for each in documents]},
                _source_includes=[self._partition_field, self._token_field],
            )
        )
        found = answer.get("docs") if isinstance(answer, Mapping) else None
        if not isinstance(found, list) or [each.get("_id") for each in found] != [each.id for each in documents]:
            raise _NotUnderstood("OpenSearch did not answer for each document that is in the way")
        if wrong := next((each["error"] for each in found if "error" in each), None):
            raise TransientError(f"a document that is in the way cannot be read: {_reason_of(wrong)}")
        return found

    def _is_later(self, found: Mapping[str, Any]) -> bool:
        """Say whether a document was written by a later owner of our partition."""
        if "_source" not in found:
            raise _NotUnderstood("the index keeps no _source, so that the fence cannot be looked up")
        fence = found["_source"]
        token = fence.get(self._token_field)
        return fence.get(self._partition_field) == self._task.partition_id and _number(token) > self._task.token

    def _asked(self, request: Callable[[], Any]) -> Any:
        """Return the answer to a whole request.

        :raises TransientError: for what may go well in a moment.
        """
        from opensearchpy.exceptions import ConnectionError, OpenSearchException, TransportError

        try:
            return request()
        except ConnectionError as error:  # a time-out is one, too
            raise TransientError(_plain_text(error)) from error
        except TransportError as error:
            status = int(error.status_code)
            if status in _TRANSIENT or status >= 500:
                raise TransientError(_plain_text(error)) from error
            wrong = _BulkTooLarge if status == _TOO_LARGE else _NotUnderstood
            raise wrong(_plain_text(error)) from error
        except OpenSearchException as error:  # no JSON
            raise _NotUnderstood(_plain_text(error)) from error


class _Document:
    """A record on its way."""

    __slots__ = ("body", "conflict", "found", "id", "reason")

    def __init__(self, identifier: str, body: bytes) -> None:
        self.id, self.body = identifier, body
        self.conflict, self.reason = False, ""
        self.found: Mapping[str, Any] = {}


class _NotUnderstood(Exception):
    """An answer that delivers nothing, and that asking again does not mend."""


class _BulkTooLarge(Exception):
    """The request is larger than OpenSearch, or somebody before it, takes."""


def _replacing(document: _Document) -> dict[str, Any]:
    """Return the action that writes in the place of what was looked at, if it is still that."""
    at = {"if_seq_no": document.found["_seq_no"], "if_primary_term": document.found["_primary_term"]}
    return {"index": {"_id": document.id, **at}}


def _told(item: Any, document: _Document) -> tuple[int, str]:
    """Return the status and the reason inside one answer."""
    [about] = item.values() if isinstance(item, Mapping) and len(item) == 1 else [None]
    if not isinstance(about, Mapping) or about.get("_id") != document.id or not isinstance(about.get("status"), int):
        raise _NotUnderstood("OpenSearch's answers are not those for the records, in their order")
    status = about["status"]
    return status, f"{status} {_reason_of(about.get('error'))}"


def _final(status: int, reason: str) -> Answer:
    """Return what a status means that does not change in a moment.

    Only 400 and 413 are about the record, and not always. 403 is a missing right or a full disk, 404 a missing index.
    """
    if 200 <= status < 300:
        return DELIVERED
    of_the_record = status in (400, _TOO_LARGE) and not any(each in reason for each in _OF_THE_INDEX)
    return refused(reason) if of_the_record else failed(reason)


def _reason_of(error: Any) -> str:
    if not isinstance(error, Mapping):
        return str(error or "")
    told = f"{error.get('type')}: {error.get('reason')}"
    cause = error.get("caused_by")
    return f"{told}; {cause.get('reason')}" if isinstance(cause, Mapping) else told


def _plain_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _number(token: Any) -> int:
    return token if isinstance(token, int) else -1


def _id_of(key: Any) -> str:
    """Return a record's ``_id``.

    :raises ValueError: for a key that OpenSearch takes for none.
    """
    text = key if isinstance(key, str) else "" if key is None else record_json(key).strip('"')
    if not 0 < len(text.encode()) <= _LONGEST_ID:
        raise ValueError(f"its key is empty or longer than {_LONGEST_ID} bytes, which is no _id")
    return text
