"""Hostile keys, payloads and progress."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

import json
from typing import Final

import pytest

from airflow_coordination.protocol.partition import PartitionIdentifier
from airflow_coordination.protocol.results import Created
from airflow_coordination.testing.conformance.workbench import Workbench, block, head, owner
from airflow_coordination.values.status import PartitionStatus

HOSTILE_KEYS: Final = (
    "x" * 2048,
    "\U0001f600" * 512,
    "../../etc/passwd",
    "/",
    ".",
    " ",
    " leading",
    "trailing ",
    "trailing",
    "new\nline",
    "tab\t",
    "\r\n",
    "\u0001",
    "\u007f",
    "'; DROP TABLE partitions; --",
    '"quoted"',
    "`back`",
    "back\\slash",
    "%",
    "%25",
    "%s %(key)s :key ?",
    "_",
    "a|b",
    "a%7Cb",
    "\u202egnp.exe",
    "\u200b",
    "{{ ds }}",
    "{% raw %}",
    "${HOME}",
    "$(reboot)",
    "<script>alert(1)</script>",
    "caf\u00e9",
    "cafe\u0301",
    "KEY",
    "key",
    "Key",
    "stra\u00dfe",
    "strasse",
    "\u0130",
    "i",
    "I",
    "null",
    "None",
    "0",
    "00",
    "0.0",
    "1e0",
    "\ufeff",
    "\uffff",
    "\U0010ffff",
)
"""Keys that are all different and all allowed: also twins by case, by normal form, by trailing space."""

HOSTILE_DOCUMENTS: Final[tuple[object, ...]] = (
    {"nul": "\u0000", "\u0000": 1},
    {"lone surrogates": "\ud800 and \udfff", "\udc00": None},
    ["'", '"', "\\", "{{ x }}", "<script>", "\u202e", "%s", ":key", "?"],
    {"numbers": [0, -0.0, 1e308, 5e-324, 2**63, -(2**200), 0.1], "truth": [True, False, None]},
    "only a text",
    0,
    False,
    "",
    [],
    {},
    {"deep": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},
    {"big": "x" * 250_000},
)


class Hostile:
    """Promises S14, S15, X5, X6, X9 on the store's side."""

    def test_s15_hostile_keys_are_all_different(self, bench: Workbench) -> None:
        assert bench.create(*HOSTILE_KEYS) == Created(created=len(HOSTILE_KEYS))
        assert bench.create(*HOSTILE_KEYS) == Created(existing=len(HOSTILE_KEYS))
        assert [key for key, _ in bench.store.claimable(bench.source, 100)] == list(HOSTILE_KEYS)
        page = bench.store.page(bench.source, None, None, 100)
        assert bench.keys(page) == sorted(HOSTILE_KEYS, key=str.encode)
        assert bench.drained() == list(HOSTILE_KEYS)

    @pytest.mark.parametrize("key", HOSTILE_KEYS, ids=lambda key: ascii(key)[:40])
    def test_s15_a_hostile_key_goes_the_whole_way(self, bench: Workbench, key: str) -> None:
        bench.create(PartitionIdentifier(key, payload={key: key} if len(key) < 500 else None))
        held = bench.hinted(key, 0).partition
        assert held is not None
        saved = bench.save(held, {"key": key}, block(key))
        assert saved.progress_state == {"key": key}
        assert bench.complete(saved, head(saved, block(key))).applied
        done = bench.get(key)
        assert (done.key, done.status) == (key, PartitionStatus.COMPLETED)
        assert [record.blocks for record in bench.store.heads(bench.source, key=key)] == [(block(key),)]

    @pytest.mark.parametrize("source", ["a'b|PARTITION", "%s|PARTITION", "é|x|PARTITION", "s" * 255])
    def test_hostile_sources(self, bench: Workbench, source: str) -> None:
        other = Workbench(bench.store, bench.clock, source)
        other.create("k")
        assert other.acquire().source == source
        assert bench.next() is None

    def test_a_hostile_owner(self, bench: Workbench) -> None:
        by = owner("a/b|'\"%s\u202e{{ x }}<script>\n", host="h" * 200)
        held = bench.new("k", by=by)
        assert held.owner == by.text
        assert bench.keys(bench.store.find_task(bench.source, by.task)) == ["k"]

    def test_a_hostile_error_text(self, bench: Workbench) -> None:
        text = "'\"\\ %s :x \u202e\U0001f600 {{ x }}" + "x" * 1900
        bench.fail(bench.new("k"), error=text)
        assert bench.get("k").last_error == text

    @pytest.mark.parametrize("document", HOSTILE_DOCUMENTS, ids=lambda document: ascii(document)[:40])
    def test_s14_progress_comes_back_as_it_was_saved(self, bench: Workbench, document: object) -> None:
        saved = bench.save(bench.new("k"), document)
        assert saved.progress_state == document
        assert json.dumps(saved.progress_state) == json.dumps(document)
        bench.give_up(saved)
        assert bench.acquire().progress_state == document

    def test_a_payload_comes_back_as_it_was_given(self, bench: Workbench) -> None:
        payload = {"\u0000": "\ud800", "é": [1, {"deep": None}], "'": '"'}
        bench.create(PartitionIdentifier("k", payload=payload))
        assert bench.get("k").payload == payload
        assert bench.create(PartitionIdentifier("k", payload=payload)).changed == ()

    @pytest.mark.parametrize("priority", [-(2**31) + 1, -1, 0, 2**31 - 1])
    def test_the_whole_range_of_priorities(self, bench: Workbench, priority: int) -> None:
        bench.create("zero", PartitionIdentifier("k", priority=priority))
        assert bench.get("k").priority == priority
        assert bench.acquire().key == ("k" if priority < 0 else "zero")
