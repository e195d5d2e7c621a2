"""Names, documents, fences, owners and blocks under whatever Hypothesis can think of."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import assume, example, given, reject
from hypothesis import strategies as st

from airflow_coordination.values.blocks import Block, dump_blocks, load_blocks, merge
from airflow_coordination.values.documents import decode_progress, encode_payload, encode_progress
from airflow_coordination.values.fence import Fence, Owner
from airflow_coordination.values.hints import Hint, decode_hint, encode_hint
from airflow_coordination.values.input_errors import (
    InvalidInputError,
    InvalidKeyError,
    PayloadError,
    ProgressStateError,
)
from airflow_coordination.values.names import check_key, compose_source, encode_part

parts = st.text(st.sampled_from("a|%72C5"), min_size=1, max_size=8) | st.text(min_size=1, max_size=20).filter(
    lambda text: "\x00" not in text and len(text.encode()) <= 60
)
prefixes = st.none() | parts
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
surrogates = st.text(st.characters(categories=["Cs", "Cc", "Lu"]), max_size=8)


@given(parts, parts)
@example("a|b", "a%7Cb")
@example("%", "%25")
def test_s15_encoding_a_part_is_injective(one: str, other: str) -> None:
    assert "|" not in encode_part(one)
    assert (encode_part(one) == encode_part(other)) is (one == other)


@given(parts, prefixes, parts, prefixes)
@example("b", "a", "a|b", None)
def test_s15_composing_is_injective(
    source: str, prefix: str | None, other_source: str, other_prefix: str | None
) -> None:
    one = compose_source(source, prefix, "PARTITION")
    other = compose_source(other_source, other_prefix, "PARTITION")
    assert (one == other) is ((source, prefix) == (other_source, other_prefix))
    assert one != compose_source(other_source, other_prefix, "GLOBAL_STATE")


@given(st.text(max_size=30) | surrogates)
def test_s15_a_key_is_taken_as_it_is_or_refused_by_name(text: str) -> None:
    allowed = bool(text) and "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
    if allowed:
        assert check_key(text) == text
    else:
        with pytest.raises(InvalidKeyError, match=r"^key="):
            check_key(text)


@given(documents)
def test_s14_progress_goes_there_and_back(document: Any) -> None:
    text = encode_progress(document)
    assert text is None or text.isascii()
    assert decode_progress(text) == document


@given(surrogates)
def test_s14_progress_keeps_control_characters_and_lone_surrogates(text: str) -> None:
    paired = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")  # JSON knows UTF-16 only
    assert decode_progress(encode_progress({text: text})) == {paired: paired}


def each_named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def strictly(text: str) -> Any:
    """Return what Python reads, which is more than JSON: NaN, infinite numbers and a name twice are refused here."""
    found = json.loads(text, object_pairs_hook=each_named_once)
    json.dumps(found, allow_nan=False)
    return found


@given(st.text(max_size=40) | st.text(st.sampled_from('-0123456789eE.[]{}",: '), max_size=12))
@example("Infinity")
@example("-Infinity")
@example("[NaN]")
@example("9e999")
@example('{"":1,"":1}')
def test_s14_what_is_stored_is_read_or_named_corrupt(text: str) -> None:
    try:
        expected = strictly(text)
    except ValueError:
        with pytest.raises(ProgressStateError, match="is corrupt in the store"):
            decode_progress(text)
    else:
        assert repr(decode_progress(text)) == repr(expected)


@given(st.dictionaries(st.text(max_size=5), documents, max_size=5), st.randoms())
def test_payloads_are_equal_text_exactly_when_they_are_equal(payload: dict[str, Any], chance: Any) -> None:
    shuffled = list(payload.items())
    chance.shuffle(shuffled)
    try:
        assert encode_payload(payload) == encode_payload(dict(shuffled))
    except PayloadError:
        reject()  # too big


@given(st.integers(0, 2**62), st.text(st.sampled_from("0123456789abcdef-"), min_size=1, max_size=30))
def test_a_fence_is_read_as_it_was_written(token: int, nonce: str) -> None:
    assert Fence.parse(str(Fence(token, nonce))) == Fence(token, nonce)


@given(st.text(max_size=20) | st.text(st.sampled_from("01-ab\n"), max_size=6))
def test_a_fence_is_read_or_refused(text: str) -> None:
    if re.fullmatch(r"[0-9]+-.+", text, re.DOTALL):
        fence = Fence.parse(text)
        assert (fence.token, fence.nonce) == (int(text.partition("-")[0]), text.partition("-")[2])
    else:
        with pytest.raises(InvalidInputError, match=r"^fence="):
            Fence.parse(text)


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
tasks = st.tuples(names, names, names, st.integers(-1, 99))


@given(tasks, tasks, names, names, st.integers(0, 99))
def test_owners_are_the_same_task_exactly_when_their_parts_are(
    one: tuple[str, str, str, int], other: tuple[str, str, str, int], host: str, elsewhere: str, number: int
) -> None:
    first, second = Owner.of_task(host, *one, number), Owner.of_task(elsewhere, *other, number + 1)
    assert (first.task == second.task) is (one == other)
    assert (first.dag, first.try_number) == (one[0], number)
    assert (second.dag, second.try_number) == (other[0], number + 1)


@given(names, st.integers(0, 2**40))
def test_x5_a_hint_carries_any_key_and_nothing_that_is_interpreted(key: str, token: int) -> None:
    assume("\x00" not in key)
    hint = encode_hint("memory-1", key, token)
    assert decode_hint(hint, "memory-1") == Hint(key, token)
    assert quote(hint, safe=":%") == hint


blocks = st.builds(
    Block,
    dataset=st.sampled_from(["clean", "rejected"]),
    address=st.just("/out"),
    digest=st.sampled_from("abcdef"),
    rows=st.integers(0, 9),
    bytes=st.integers(0, 9),
    follows=st.none() | st.sampled_from("abcdef"),
    mode=st.sampled_from(["replace", "append"]),
)
several = st.lists(blocks, max_size=6)


def names_of(found: tuple[Block, ...] | list[Block]) -> list[tuple[str, str]]:
    return [(block.dataset, block.digest) for block in found]


@given(several, several)
def test_s12_merging_the_same_again_changes_nothing(known: list[Block], new: list[Block]) -> None:
    unchained = [Block(b.dataset, b.address, b.digest, b.rows, b.bytes) for b in new]
    once = merge(merge((), known), unchained)
    assert merge(once, unchained) == once


@given(several, several)
def test_s12_merging_keeps_each_block_once_and_loses_none(known: list[Block], new: list[Block]) -> None:
    start = merge((), [Block(b.dataset, b.address, b.digest, b.rows, b.bytes) for b in known])
    merged = merge(start, new)
    assert len(set(names_of(merged))) == len(merged)
    given_names, followed = set(names_of(start)) | set(names_of(new)), {(b.dataset, b.follows) for b in new}
    assert set(names_of(merged)) <= given_names
    assert given_names - set(names_of(merged)) <= followed


@given(several)
def test_s12_a_chain_counts_all_its_rows(links: list[Block]) -> None:
    chain = [
        Block("clean", "/out", f"b{number}", link.rows, link.bytes, f"b{number - 1}" if number else None)
        for number, link in enumerate(links)
    ]
    merged = merge((), chain)
    assert len(merged) == bool(chain)
    assert sum(block.rows for block in merged) == sum(link.rows for link in links)
    assert sum(block.bytes for block in merged) == sum(link.bytes for link in links)


@given(several)
def test_blocks_go_to_text_and_back(found: list[Block]) -> None:
    assert load_blocks(dump_blocks(found)) == tuple(found)
