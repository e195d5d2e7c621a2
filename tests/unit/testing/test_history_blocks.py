"""What a history's model makes of blocks is what the store makes of them."""

from __future__ import annotations

import random

from airflow_coordination.testing.history.operations import Output
from airflow_coordination.testing.history.state import merged
from airflow_coordination.values.blocks import Block, merge

BLOCKS = [
    Block("clean", f"/out/{digest}", digest, follows=follows)
    for digest, follows in (("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", None), ("f", "e"), ("g", "f"))
]


def outputs(blocks: list[Block]) -> tuple[Output, ...]:
    return tuple(Output(block.dataset, block.digest, block.follows, block.mode) for block in blocks)


def test_s12_a_chain_takes_the_place_of_what_its_first_link_follows() -> None:
    published, b, c = outputs(BLOCKS[:3])
    assert merged((), (b, c)) == (c._replace(follows="a"),)
    assert [block.digest for block in merged((published,), merged((), (b, c)))] == ["c"]


def test_the_model_merges_blocks_as_the_store_does() -> None:
    draw = random.Random(1)
    for _ in range(2_000):
        known, new = (draw.sample(BLOCKS, draw.randint(0, 5)) for _ in range(2))
        expected = outputs(list(merge(known, new)))
        assert merged(outputs(known), outputs(new)) == expected, (known, new)
