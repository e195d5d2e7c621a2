"""Documents of a source: an item for each version, of which none is ever changed, and a small one of its newest number.

They lie beside the source's large texts, whose keys all begin with that of a partition: so nobody needs a right that a
policy of before has not given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from airflow_coordination.protocol.beside.documents import ABSENT, Document, SetDocument
from airflow_coordination.protocol.fields import DOCUMENT_FIELDS
from airflow_coordination.stores.calls import Call
from airflow_coordination.stores.dynamodb.beside.chunks import each_of
from airflow_coordination.stores.dynamodb.expressions import put, query
from airflow_coordination.stores.dynamodb.items import KEY, SOURCE, Item, typed
from airflow_coordination.stores.dynamodb.keys import (
    DOCUMENT_NAMES,
    DOCUMENT_VERSIONS,
    LARGE,
    SEPARATOR,
    begins_with,
    belonging,
    newest_first,
)
from airflow_coordination.stores.dynamodb.requests import Refusal, Table, side_by_side
from airflow_coordination.values.times import from_micros, to_micros

_STORED: Final = {field.name: field.stored for field in DOCUMENT_FIELDS}
_SOME: Final = 16
"""So many are asked for before one that cannot be read ends it."""
_SAID: Final = ("name", "version", "content", "author", "comment", "op")


def set_document(table: Table, write: SetDocument) -> bool:
    """Write the next version if the newest one is the one seen; a repetition finds that it has.

    One transaction: the version, which must not be there, and the number of the newest one, which must be that seen.
    """
    call = Call("write a document", write.name)
    said = {_STORED[name]: getattr(write, name) for name in _SAID}
    version = {**_key(write.source, write.name, write.version), **said, _STORED["at"]: to_micros(table.clock.now())}
    number = Attr(_STORED["version"])
    as_seen = number.not_exists() if write.seen == ABSENT else number.eq(write.seen)
    newest = {**_place(write.source, DOCUMENT_NAMES + write.name), _STORED["version"]: write.version}
    puts = [put(version, Attr(KEY).not_exists()), put(newest, as_seen)]
    refused = table.transact(call, [{"Put": each} for each in puts])
    return refused is None or _is_mine(refused, write)


def _is_mine(refused: Refusal, write: SetDocument) -> bool:
    """Return whether this very operation has written the version that is there."""
    return refused.index == 0 and refused.item is not None and refused.item[_STORED["op"]] == write.op


def document(table: Table, source: str, name: str) -> Document | None:
    """Return the newest version."""
    return next(iter(document_history(table, source, name, None, 1)), None)


def document_history(table: Table, source: str, name: str, before: int | None, limit: int) -> list[Document]:
    """Return versions, the newest first, which is the order in which they lie."""
    first, end = _versions(name, before)
    condition = Key(KEY).between(first, end)
    found = _read(table, Call("read a document", name, writes=False), source, condition, min(limit, _PAGE))
    return [_decoded(source, item) for item in islice(found, limit)]


def documents(table: Table, source: str, limit: int | None) -> list[Document]:
    """Return the newest version of each document, by name: a request for each, some at a time, whatever is kept."""
    call = Call("read the documents", source, writes=False)
    names, found = islice(_names(table, call, source, limit), limit), list[Document | None]()
    while some := [partial(document, table, source, name) for name in islice(names, _SOME)]:
        found += side_by_side(some)
    return [each for each in found if each is not None]


def forget_versions(table: Table, source: str, beginning: str, before: datetime) -> int:
    """Remove versions that no longer counted at a moment, and return how many: requests for each document and version.

    :raises OutcomeUnknownError: when some of several may be gone.
    """
    call = Call("forget old versions of documents")
    forgotten = 0
    for name in _names(table, replace(call, writes=False), source):
        old = _outdated(table, source, name, before) if name.startswith(beginning) else []
        each_of(call, [partial(_forget, table, call, source, name, version) for version in old])
        forgotten += len(old)
    return forgotten


def _forget(table: Table, call: Call, source: str, name: str, version: int) -> None:
    table.send(call, "delete_item", TableName=table.name, Key=typed(_key(source, name, version)))


def _outdated(table: Table, source: str, name: str, before: datetime) -> list[int]:
    """Return the versions that are older than the one that counted at a moment."""
    call, condition = Call("read a document", name, writes=False), Key(KEY).between(*_versions(name, None))
    versions = [_decoded(source, item) for item in _read(table, call, source, condition, None)]
    counted = max((each.version for each in versions if each.at <= before), default=ABSENT)
    return [each.version for each in versions if each.version < counted]


def _names(table: Table, call: Call, source: str, size: int | None = None) -> Iterator[str]:
    for item in _read(table, call, source, Key(KEY).between(*begins_with(DOCUMENT_NAMES)), size):
        yield item[KEY].removeprefix(DOCUMENT_NAMES)


_PAGE: Final = 100


def _read(table: Table, call: Call, source: str, condition: ConditionBase, size: int | None) -> Iterator[Item]:
    wanted = query(Key(SOURCE).eq(belonging(source, LARGE)) & condition)
    for page in table.pages(call, size, ConsistentRead=True, **wanted):
        yield from page


def _place(source: str, key: str) -> dict[str, str]:
    return {SOURCE: belonging(source, LARGE), KEY: key}


def _key(source: str, name: str, version: int) -> dict[str, str]:
    return _place(source, f"{DOCUMENT_VERSIONS}{name}{SEPARATOR}{newest_first(version)}")


def _versions(name: str, before: int | None) -> tuple[str, str]:
    """Return the bounds of the keys of a document's versions, of those older than one if it is named."""
    first, end = begins_with(DOCUMENT_VERSIONS + name + SEPARATOR)
    return first if before is None else first + newest_first(before - 1), end


def _decoded(source: str, item: Item) -> Document:
    said: dict[str, Any] = {name: item[_STORED[name]] for name in _SAID}
    at = from_micros(int(item[_STORED["at"]]))
    return Document(source=source, **said | {"version": int(said["version"]), "at": at})
