"""Head records: moved by the ending, alive after everything else is gone."""

# ruff: noqa: D102  a test's name says what it shows

from __future__ import annotations

from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.writes import Action
from airflow_coordination.testing.conformance.workbench import MINUTE, Workbench, block, head, without_time
from airflow_coordination.values.status import Outcome, PartitionStatus


class Heads:
    """An ending's head records; promise S12 as far as the store keeps it."""

    def test_s12_an_ending_moves_the_head_record_in_the_same_step(self, bench: Workbench) -> None:
        held = bench.new("k")
        record = head(held, block("b1"), block("b2"), op="op-1")
        assert bench.complete(held, record).applied
        stored = bench.store.heads(bench.source, "clean")
        assert [without_time(found) for found in stored] == [record]
        assert stored[0].published_at == bench.clock.now()

    def test_s12_a_refused_ending_moves_nothing(self, bench: Workbench) -> None:
        zombie = bench.new("k")
        bench.expire()
        held = bench.acquire()
        assert not bench.complete(zombie, head(zombie, block("zombie"))).applied
        assert list(bench.store.heads(bench.source)) == []
        bench.complete(held, head(held, block("b1")))
        assert not bench.complete(zombie, head(zombie, block("zombie"))).applied
        assert [found.blocks for found in bench.store.heads(bench.source)] == [(block("b1"),)]

    def test_a_head_record_holds_every_field_of_its_blocks(self, bench: Workbench) -> None:
        held = bench.new("k")
        whole = block("b2", rows=7, follows="b1", mode="append")
        bench.complete(held, head(held, whole))
        assert bench.store.heads(bench.source)[0].blocks == (whole,)

    def test_a_later_publication_replaces_the_record(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        bench.act(Action.RESET, "k")
        bench.clock.advance(MINUTE)
        again = bench.acquire()
        record = head(again, block("b2"), op="op-2")
        bench.complete(again, record)
        stored = bench.store.heads(bench.source, "clean", "k")
        assert [without_time(found) for found in stored] == [record]
        assert stored[0].published_at == bench.clock.now()

    def test_one_ending_publishes_to_several_datasets(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")), head(held, block("b2", "rejected"), dataset="rejected"))
        assert {found.dataset for found in bench.store.heads(bench.source, key="k")} == {"clean", "rejected"}
        assert [found.dataset for found in bench.store.heads(bench.source, "rejected")] == ["rejected"]
        assert list(bench.store.heads(bench.source, "absent")) == []

    def test_a_close_publishes_too_and_a_failure_leaves_what_is_there(self, bench: Workbench) -> None:
        held = bench.new("k")
        publishing = bench.ending(
            held,
            Outcome.CLOSED,
            PartitionStatus.CLOSED,
            delay=MINUTE,
            clear_staged=True,
            heads=(head(held, block("b1")),),
        )
        bench.store.write(publishing)
        bench.clock.advance(MINUTE)
        bench.fail(bench.acquire())
        assert [found.blocks for found in bench.store.heads(bench.source)] == [(block("b1"),)]

    def test_a_head_record_survives_reset_delete_and_a_new_life(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        before = list(bench.store.heads(bench.source))
        for action in (Action.RESET, Action.DELETE):
            bench.act(action, "k")
            assert list(bench.store.heads(bench.source)) == before
        bench.create("k")
        assert list(bench.store.heads(bench.source)) == before

    def test_head_records_come_in_pages_by_key_in_byte_order(self, bench: Workbench) -> None:
        keys = ["b", "a", "Z", "é", "zz", "\U0001f600", "￿", "a/b", "%"]
        for key in keys:
            held = bench.new(key)
            bench.complete(held, head(held, block(key)))
        expected = sorted(keys, key=str.encode)
        seen: list[str] = []
        while page := bench.store.heads(bench.source, "clean", after=seen[-1] if seen else None, limit=2):
            assert len(page) <= 2
            seen += [found.key for found in page]
        assert seen == expected
        assert [found.key for found in bench.store.heads(bench.source)] == expected

    def test_e3_no_head_record_is_missed_however_many_a_partition_has(self, bench: Workbench) -> None:
        """E3: pages that end inside a partition go on there, for one partition, one dataset and a whole source."""
        datasets = sorted(("a", "é", "zz", "%", "\U0001f600", "d" * 255), key=str.encode)
        for key in ("k", "k2", "l"):
            held = bench.new(key)
            bench.complete(held, *(head(held, block(name, name), dataset=name) for name in datasets))
        everything = [(key, name) for key in ("k", "k2", "l") for name in datasets]

        def read(dataset: str | None = None, key: str | None = None) -> list[tuple[str, str]]:
            found = every_head(bench.store, bench.source, dataset=dataset, key=key, limit=4)
            return [(each.key, each.dataset) for each in found]

        assert read() == everything
        assert read(key="k") == [place for place in everything if place[0] == "k"]
        assert read(dataset="zz") == [place for place in everything if place[1] == "zz"]
        assert read(key="k2", dataset="zz") == [("k2", "zz")]
        assert read(key="absent") == []

    def test_head_records_of_sources_are_apart(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        assert list(bench.store.heads("other|PARTITION")) == []
