"""A finished piece of output, as a lease sees it: an address and a digest. Its content is the outputs' business."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from typing import Any, Final, Literal

from airflow_coordination.values.documents import parse, scanned
from airflow_coordination.values.in_bulk import made_of
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_key

MAX_BLOCKS_BYTES = 64 * 1024
MAX_DATASET_BYTES = 255
MAX_ADDRESS_BYTES = 8 * 1024
MOST: Final = 2**62
"""More than any rows or bytes are."""
Mode = Literal["replace", "append"]


@dataclass(frozen=True, slots=True)
class Block:
    """A finished piece of output: one directory with an immutable manifest in it.

    :param dataset: the dataset it belongs to.
    :param address: where its manifest is.
    :param digest: SHA-256 of the manifest, so that a reader knows it has the right one.
    :param rows: rows in it (and in what it follows).
    :param bytes: bytes in it (and in what it follows).
    :param follows: digest of the manifest that this one names as its predecessor; a reader that has this
        block has that one too, so the store keeps only the newest of such a chain.
    :param mode: ``"append"`` adds to what the partition published before; ``"replace"`` (default) replaces
        it, unless this generation's progress was carried over from it.
    """

    dataset: str
    address: str
    digest: str
    rows: int = 0
    bytes: int = 0
    follows: str | None = None
    mode: Mode = "replace"

    def __post_init__(self) -> None:
        check_key(self.dataset, "block.dataset", MAX_DATASET_BYTES)
        check_key(self.address, "block.address", MAX_ADDRESS_BYTES)
        check_key(self.digest, "block.digest", MAX_ADDRESS_BYTES)
        _check_number("block.rows", self.rows)
        _check_number("block.bytes", self.bytes)


def _check_number(field: str, value: object) -> None:
    if not isinstance(value, int) or not 0 <= value < MOST:
        raise InvalidInputError(field, value, "is not a number of things", "Give a whole number")


def _included(known: Sequence[Block], new: Sequence[Block]) -> set[tuple[str, str | None]]:
    """Return which of ``new`` (dataset and digest) are in ``known``, themselves or because what follows them is."""
    by_name = {(block.dataset, block.digest): block for block in new}
    included: set[tuple[str, str | None]] = set()
    for block in known:
        name: tuple[str, str | None] = (block.dataset, block.digest)
        while name not in included:
            included.add(name)
            name = (block.dataset, by_name[name].follows if name in by_name else None)
    return included


def merge(known: Iterable[Block], new: Iterable[Block]) -> tuple[Block, ...]:
    """Return ``known`` and ``new`` together, each once, a follower in the place of what it follows.

    A block that is already known is not added twice, also not when only what follows it is still named: saving
    again after a lost answer must not double rows.
    """
    merged, given = list(known), list(new)
    included = _included(merged, given)
    for block in given:
        if (block.dataset, block.digest) in included:
            continue
        included.add((block.dataset, block.digest))
        followed = next(
            (i for i, b in enumerate(merged) if (b.dataset, b.digest) == (block.dataset, block.follows)), None
        )
        if followed is None:
            merged.append(block)
        else:
            before = merged[followed]
            merged[followed] = replace(  # the chain as a whole still follows what its first link follows
                block, follows=before.follows, rows=before.rows + block.rows, bytes=before.bytes + block.bytes
            )
    return tuple(merged)


def dump_blocks(blocks: Sequence[Block]) -> str:
    """Return ``blocks`` as JSON text for the store.

    :raises InvalidInputError: above 64 KiB: publish with ``lease.publish``, whose blocks chain.
    """
    fields = [[b.dataset, b.address, b.digest, b.rows, b.bytes, b.follows, b.mode] for b in blocks]
    text = json.dumps(fields, separators=(",", ":"))
    if len(text) > MAX_BLOCKS_BYTES:
        raise InvalidInputError(
            "blocks",
            f"{len(blocks)} blocks",
            f"take {len(text)} bytes, the limit is {MAX_BLOCKS_BYTES}",
            "Publish with lease.publish(…), whose blocks name their predecessor instead of piling up",
        )
    return text


def load_blocks(text: str | None) -> tuple[Block, ...]:
    """Return the blocks that :func:`dump_blocks` wrote.

    :raises InvalidInputError: when the stored text is corrupt; it is never taken for "none".
    """
    try:
        found = parse(text, max_bytes=MAX_BLOCKS_BYTES, max_depth=2) if text else ()
        return tuple(Block(*fields) for fields in found)
    except (TypeError, ValueError) as cause:
        raise InvalidInputError("blocks", text, f"is corrupt in the store ({cause})", "Reset the partition") from cause


_FIELDS: Final = len(fields(Block))
_COMMON: Final[tuple[set[type], ...]] = ({str}, {str}, {str}, {int}, {int}, {str, type(None)}, {str})
"""Of which types the fields of blocks are that :func:`dump_blocks` has written."""


def load_each(texts: Sequence[str | None]) -> list[tuple[Block, ...]]:
    """Return what :func:`load_blocks` returns of each text, all at once as long as nothing is odd about any.

    A reader of a hundred thousand head records waits half as long for them.

    :raises InvalidInputError: as there, for the first that is corrupt.
    """
    return _as_common(texts) or list(map(load_blocks, texts))


def _as_common(texts: Sequence[Any]) -> list[tuple[Block, ...]] | None:
    """Return the blocks of texts that are all as we write them, in ASCII; ``None`` to look at each by itself."""
    found = scanned(texts, MAX_BLOCKS_BYTES)
    if not found:
        return None
    rows = [block for blocks in found for block in blocks]
    if not rows:
        return [()] * len(found)
    if {*map(len, rows)} != {_FIELDS}:
        return None
    columns = list(zip(*rows, strict=True))
    if not all(types.issuperset(map(type, column)) for types, column in zip(_COMMON, columns, strict=True)):
        return None
    limits = (MAX_DATASET_BYTES, MAX_ADDRESS_BYTES, MAX_ADDRESS_BYTES)
    if not all(_are_common_keys(*named) for named in zip(columns, limits, strict=False)):
        return None
    if min(map(min, columns[3:5])) < 0 or max(map(max, columns[3:5])) >= MOST:
        return None
    made = made_of(Block, columns)
    if {*map(len, found)} == {1}:  # as mostly
        return list(zip(made, strict=True))
    row = iter(made)
    return [tuple(islice(row, len(blocks))) for blocks in found]


def _are_common_keys(keys: Sequence[str], limit: int) -> bool:
    whole = "".join(keys)
    return whole.isascii() and "\x00" not in whole and min(map(len, keys)) > 0 and max(map(len, keys)) <= limit
