"""Partitions that run in a branch: put there by a reset or their creation, counted, and what they publish there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.leases.lease import Lease
from airflow_coordination.planning.view.view import Branch, BranchState, View
from airflow_coordination.protocol.beside.documents import BranchCounts
from airflow_coordination.protocol.partition import Partition, PartitionIdentifier
from airflow_coordination.protocol.side_writes import head_records
from airflow_coordination.protocol.writes import AcquireNext, Action, Place
from airflow_coordination.testing.conformance.coordinator_cases import Coordinators, acquired
from airflow_coordination.testing.conformance.fixtures import MINUTE, SOURCE, Workbench, block, fence, head, owner
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import MAX_KEY_BYTES, branch_dataset
from airflow_coordination.values.status import PartitionStatus

S = PartitionStatus
BRANCH = 7
LARGE_BRANCH = 2**53
STAYS = sorted(set(Action) - {Action.RESET, Action.DELETE, Action.CLEAN_UP, Action.FINISH})


def counts(bench: Workbench, branch: int = BRANCH) -> tuple[int, int, int]:
    """Return how many partitions a branch has, how many have completed, and how many are parked."""
    found = bench.branches.branch_counts(bench.source, branch)
    return found.partitions, found.completed, found.parked


def inside(bench: Workbench, branch: int = BRANCH) -> list[str]:
    """Return the keys of a branch's partitions, read in pages of two."""
    keys: list[str] = []
    while page := bench.branches.branch_partitions(bench.source, branch, keys[-1] if keys else None, 2):
        assert len(page) <= 2
        assert [each for each in page if each.branch != branch or each.deleted] == []
        assert list(page) == [bench.get(each.key) for each in page]
        keys += bench.keys(page)
    return keys


def put(bench: Workbench, *keys: str, branch: int | None = BRANCH) -> None:
    """Create partitions, and reset them into a branch."""
    bench.create(*keys)
    for key in keys:
        bench.act(Action.RESET, key, branch=branch)


def begun(one: SourceCoordinator, *numbers: int) -> None:
    """Let branches begin: in others nobody may publish."""

    def change(view: View) -> View:
        new = [
            Branch(
                number=number,
                state=BranchState.BEGUN,
                selection={},
                by="ana",
                why="a test",
                at=view.now,
                changed_at=view.now,
            )
            for number in numbers
        ]
        return replace(view, branches=(*view.branches, *new))

    one.documents.change_view(change, "ana", "a test")


class Branches:
    """Which partitions run in a branch."""

    @pytest.fixture(autouse=True)
    def known(self, bench: Workbench) -> None:
        """Skip a store that knows of none."""
        assert bench.branches.branch_counts(SOURCE, BRANCH) == BranchCounts()
        assert list(bench.branches.branch_partitions(SOURCE, BRANCH, None, 10)) == []

    @pytest.mark.parametrize("status", [S.UNASSIGNED, S.ASSIGNED, S.CLOSED, S.COMPLETED])
    def test_a_reset_puts_a_partition_into_a_branch(self, bench: Workbench, status: PartitionStatus) -> None:
        before = bench.bring("k", status)
        assert before.branch is None
        after = bench.act(Action.RESET, "k", branch=BRANCH)
        assert (after.branch, after.status, after.generation) == (BRANCH, S.UNASSIGNED, after.last_op)
        assert (inside(bench), counts(bench)) == (["k"], (1, 0, 0))

    def test_it_stays_there_until_the_next_reset(self, bench: Workbench) -> None:
        """Through its tenures, its endings, a lost lease and what people do to it."""
        put(bench, "k")
        held = bench.acquire("k")
        assert held.branch == BRANCH
        assert bench.begin(held).applied
        assert bench.renew(held).applied
        held = bench.save(bench.get("k"), {"row": 1})
        assert bench.close(held).applied
        bench.clock.advance(MINUTE)
        assert bench.sweep().reopened == 1
        assert bench.fail(bench.acquire("k")).applied
        assert bench.acquire("k").branch == BRANCH
        bench.expire()
        assert bench.sweep().reclaimed == 1
        held = bench.acquire("k")
        bench.expire()
        assert bench.hinted("k", held.token, by=owner("other")).applied
        assert bench.give_up(bench.get("k")).applied
        assert (bench.get("k").branch, counts(bench)) == (BRANCH, (1, 0, 0))
        bench.complete(bench.acquire("k"))
        assert (bench.get("k").branch, counts(bench)) == (BRANCH, (1, 1, 0))
        after = bench.act(Action.RESET, "k")
        assert (after.branch, counts(bench), inside(bench)) == (None, (0, 0, 0), [])

    @pytest.mark.parametrize("action", STAYS)
    def test_what_people_do_otherwise_leaves_it_there(self, bench: Workbench, action: Action) -> None:
        put(bench, "k")
        if action in (Action.RELEASE, Action.REOPEN):
            held = bench.acquire("k")
            if action is Action.REOPEN:
                bench.close(held, reopen_after=None)
        assert bench.act(action, "k").branch == BRANCH
        assert inside(bench) == ["k"]

    def test_a_reset_takes_it_into_another_one_or_the_same_again(self, bench: Workbench) -> None:
        put(bench, "k", branch=1)
        for branch in (1, 11, LARGE_BRANCH, 1):
            assert bench.act(Action.RESET, "k", branch=branch).branch == branch
            for each in (1, 11, LARGE_BRANCH):
                assert (inside(bench, each), counts(bench, each)[0]) == ((["k"], 1) if each == branch else ([], 0))

    def test_a_refused_reset_puts_nothing_anywhere(self, bench: Workbench) -> None:
        stale = bench.bring("k", S.COMPLETED)
        bench.act(Action.RESET, "k")
        before = bench.get("k")
        assert not bench.store.act(bench.acting(Action.RESET, stale, branch=BRANCH)).applied
        assert (bench.get("k"), counts(bench), inside(bench)) == (before, (0, 0, 0), [])

    @pytest.mark.parametrize("action", [Action.DELETE, Action.CLEAN_UP])
    def test_what_is_deleted_is_in_none_any_more(self, bench: Workbench, action: Action) -> None:
        put(bench, "k", "l")
        for key in ("k", "l"):
            bench.complete(bench.acquire(key))
        bench.act(action, "k")
        assert bench.get("k").branch is None
        assert (inside(bench), counts(bench)) == (["l"], (1, 1, 0))
        bench.create("k")
        assert (bench.get("k").branch, inside(bench)) == (None, ["l"])

    def test_what_is_deleted_under_its_owner_is_in_none_any_more(self, bench: Workbench) -> None:
        put(bench, "k")
        bench.acquire("k")
        bench.act(Action.DELETE, "k")
        assert (bench.get("k").branch, inside(bench), counts(bench)) == (None, [], (0, 0, 0))

    def test_what_is_new_is_created_in_a_branch(self, bench: Workbench) -> None:
        """Also what was deleted; what is there stays as it is."""
        bench.create("there", "gone", "parent")
        bench.act(Action.DELETE, "gone")
        child = PartitionIdentifier("child", parents=["parent"])
        op = bench.op()
        for _ in range(2):
            made = bench.create("new", "there", "gone", branch=BRANCH, op=op)
            assert (made.created, made.existing) == (2, 1)
        assert bench.create(child, branch=BRANCH).created == 1
        assert (bench.get("there").branch, bench.get("parent").branch) == (None, None)
        assert bench.get("child").waits_for == ("parent",)
        assert (inside(bench), counts(bench)) == (["child", "gone", "new"], (3, 0, 0))
        bench.complete(bench.acquire("parent"))
        bench.complete(bench.acquire("child"))
        assert counts(bench) == (3, 1, 0)

    def test_a_tombstone_that_lives_again_in_none_is_in_none(self, bench: Workbench) -> None:
        put(bench, "a", "b", "parent")
        for key in ("a", "b"):
            bench.act(Action.DELETE, key)
        bench.create("a")
        bench.create(PartitionIdentifier("b", parents=["parent"]))
        assert (bench.get("a").branch, bench.get("b").branch, inside(bench)) == (None, None, ["parent"])

    def test_they_are_counted_as_they_are(self, bench: Workbench) -> None:
        keys = ["completed", "completed2", "parked", "closed", "held", "waiting"]
        put(bench, *keys)
        put(bench, "elsewhere", branch=8)
        bench.create("base")
        for key in ("completed", "completed2", "elsewhere", "base"):
            bench.complete(bench.acquire(key))
        bench.fail(bench.acquire("parked"), delay=None)
        bench.close(bench.acquire("closed"))
        bench.acquire("held")
        assert counts(bench) == (6, 2, 1)
        assert counts(bench, 8) == (1, 1, 0)
        assert bench.branches.branch_counts("other|PARTITION", BRANCH) == BranchCounts()
        assert bench.documents.look(bench.source, "view", BRANCH).counts == BranchCounts(6, 2, 1)

    def test_they_come_by_key_in_byte_order(self, bench: Workbench) -> None:
        keys = ["b", "a", "Z", "é", "zz", "\U0001f600", "￿", "a/b", "%", "a b", "\U0010ffffz", "x" * 900, "~7~a"]
        put(bench, *keys)
        bench.create("a1", "zzz")
        put(bench, "a2", "zzzz", branch=8)
        assert inside(bench) == sorted(keys, key=str.encode)
        assert counts(bench) == (len(keys), 0, 0)
        bench.source = "other|PARTITION"
        assert inside(bench) == []

    def test_none_is_missed_however_long_its_key_is(self, bench: Workbench) -> None:
        """Their order may be another one (promise S15)."""
        keys = [str(number) + "y" * (MAX_KEY_BYTES - 1 - number) for number in range(6)]
        keys += ["z" * (MAX_KEY_BYTES - 1) + str(number) for number in range(4)]
        put(bench, *keys)
        assert sorted(inside(bench)) == sorted(keys)
        assert counts(bench) == (len(keys), 0, 0)

    def test_many_are_counted_and_listed_whole(self, bench: Workbench) -> None:
        keys = [f"k{number:03}" for number in range(230)]
        for first in range(0, len(keys), 50):
            bench.create(*keys[first : first + 50], branch=BRANCH)
        bench.act(Action.DELETE, keys[100])
        bench.act(Action.RESET, keys[101])
        kept = [key for key in keys if key not in keys[100:102]]
        assert counts(bench) == (len(kept), 0, 0)
        assert bench.keys(bench.branches.branch_partitions(SOURCE, BRANCH, None, 1_000)) == kept
        assert bench.keys(bench.branches.branch_partitions(SOURCE, BRANCH, keys[98], 2)) == [keys[99], keys[102]]

    def test_its_branch_goes_along_to_another_store(self, bench: Workbench) -> None:
        bench.create("k", "parked", "base")
        now = bench.clock.now()
        began: dict[str, Any] = {"status": S.UNASSIGNED, "created_at": now, "available_at": now}
        parked = {"branch": BRANCH, "status": S.CLOSED, "available_at": None}
        lives: dict[str, dict[str, Any]] = {"k": {"branch": BRANCH}, "parked": parked, "base": {}}
        chain: dict[str, Any] = {"token": 3, "nonce": "n", "last_op": "op-there", "generation": "life-there"}
        for key, more in lives.items():
            life = Partition(source=SOURCE, key=key, **(began | chain | more))
            place = Place(source=SOURCE, key=key, created=bench.get(key).create_op, life=life)
            assert bench.store.place(place).applied
        assert (inside(bench), counts(bench)) == (["k", "parked"], (2, 0, 1))
        assert bench.get("base").branch is None

    def test_a_child_in_a_branch_gets_a_new_payload_and_stays_there(self, bench: Workbench) -> None:
        bench.create(PartitionIdentifier("k", {"n": 1}))
        bench.act(Action.RESET, "k", branch=BRANCH)
        [outdated] = bench.create(PartitionIdentifier("k", {"n": 2})).outdated
        assert outdated.key == "k"
        assert bench.get("k").branch == BRANCH

    def test_completing_and_acquiring_the_next_keeps_the_branch_of_both(self, bench: Workbench) -> None:
        _ = bench.fused
        put(bench, "a", "b")
        held = bench.acquire("a")
        following = AcquireNext(source=SOURCE, tenancy=bench.tenancy())
        answer = bench.fused.complete_and_acquire(bench.completing(held), following)
        assert answer.next is not None
        assert (answer.next.key, answer.next.branch, counts(bench)) == ("b", BRANCH, (2, 1, 0))


def stored(bench: Workbench, key: str = "k") -> dict[str, list[str]]:
    """Return the digests in the head records of a partition, by the names they are stored under."""
    found = bench.store.heads(bench.source, key=key)
    return {each.dataset: [published.digest for published in each.blocks] for each in found}


class Publishing:
    """What a partition publishes in a branch lies aside, under a name that no user can give."""

    @pytest.fixture(autouse=True)
    def known(self, bench: Workbench) -> None:
        """Skip a store that knows of no branches."""
        _ = bench.branches

    def test_an_ending_in_a_branch_leaves_the_base_as_it_is(self, coordinators: Coordinators, bench: Workbench) -> None:
        one = coordinators()
        begun(one, BRANCH, LARGE_BRANCH)
        one.create_partitions(["k"])
        one.complete(acquired(one.get_next_partition()), [block("base"), block("r", "rejected")])
        base = {found.dataset: found for found in bench.store.heads(SOURCE)}
        bench.act(Action.RESET, "k", branch=BRANCH)
        lease = one.save_progress_state(acquired(one.get_next_partition()), 1, [block("staged")])
        one.complete(lease, [block("new")])
        assert stored(bench) == {"clean": ["base"], "rejected": ["r"], "~7~clean": ["staged", "new"]}
        found = {each.dataset: each for each in bench.store.heads(SOURCE)}
        assert {name: found[name] for name in base} == base
        assert found["~7~clean"].token > base["clean"].token
        bench.act(Action.RESET, "k", branch=LARGE_BRANCH)
        one.complete(acquired(one.get_next_partition()), [block("newer")])
        expected = {"~7~clean": ["staged", "new"], f"~{LARGE_BRANCH}~clean": ["newer"]}
        assert stored(bench) == {"clean": ["base"], "rejected": ["r"], **expected}

    def test_an_ending_says_that_there_is_nothing(self, bench: Workbench) -> None:
        """In a branch a head record of no blocks, which hides what the base has of that dataset."""
        held = bench.new("k")
        bench.complete(held, head(held, block("base")))
        bench.act(Action.RESET, "k", branch=BRANCH)
        held = bench.acquire("k")
        bench.complete(held, *head_records(held, (), {}, bench.op(), empty=("clean", "rejected")))
        assert stored(bench) == {"clean": ["base"], "~7~clean": [], "~7~rejected": []}
        empty = {each.dataset: each for each in bench.store.heads(SOURCE)}["~7~clean"]
        assert (empty.rows, empty.bytes, empty.token) == (0, 0, bench.get("k").token)
        bench.act(Action.RESET, "k")
        held = bench.acquire("k")
        bench.complete(held, *head_records(held, (), {}, bench.op(), empty=("clean",)))
        assert stored(bench)["clean"] == []

    def test_who_adds_in_a_branch_adds_to_that_branch(self, coordinators: Coordinators, bench: Workbench) -> None:
        one = coordinators()
        begun(one, BRANCH)
        one.create_partitions(["k"])
        one.complete(acquired(one.get_next_partition()), [block("base")])
        bench.act(Action.RESET, "k", branch=BRANCH)
        passes(one.close, acquired(one.get_next_partition()), "first")
        bench.clock.advance(MINUTE)
        passes(one.close, acquired(one.get_next_partition()), "second")
        assert stored(bench) == {"clean": ["base"], "~7~clean": ["first", "second"]}
        bench.act(Action.RESET, "k")
        passes(one.close, acquired(one.get_next_partition()), "third")
        assert stored(bench)["~7~clean"] == ["first", "second"]
        assert stored(bench)["clean"][-1] == "third"

    @pytest.mark.parametrize("long", ["dataset", "both"])
    def test_names_are_as_long_in_a_branch_as_elsewhere(self, bench: Workbench, long: str) -> None:
        datasets = ["d" * (MAX_DATASET_BYTES - 1) + end for end in "ab"]
        key = "k" * (MAX_KEY_BYTES if long == "both" else 1)
        bench.create(key)
        bench.act(Action.RESET, key, branch=LARGE_BRANCH)
        names = [branch_dataset(LARGE_BRANCH, dataset) for dataset in datasets]
        held = bench.acquire(key)
        records = [head(held, block(name), dataset=name) for name in (*names, *datasets)]
        assert bench.complete(held, *records).applied
        assert stored(bench, key) == {name: [name] for name in (*names, *datasets)}
        assert [each.key for each in bench.store.heads(SOURCE, names[1])] == [key]
        found: list[Any] = []
        while page := bench.store.heads(SOURCE, None, key, key if found else None, 1, found[-1] if found else None):
            found += [each.dataset for each in page]
        assert sorted(found) == sorted([*names, *datasets])
        bench.act(Action.RETRACT, key, datasets=(names[0],))
        assert stored(bench, key) == {name: [] if name == names[0] else [name] for name in (*names, *datasets)}


def passes(close: Callable[..., object], lease: Lease, name: str) -> None:
    """End a pass that adds one block."""
    close(lease, MINUTE, blocks=[block(name, mode="append")])


class Emptying:
    """A retract that is narrowed to some head records of a partition."""

    @pytest.fixture(autouse=True)
    def known(self, bench: Workbench) -> None:
        """Skip a store that knows of no branches: what it retracts, it retracts whole."""
        _ = bench.branches

    NAMES = ("clean", "rejected", "~7~clean", "~17~clean", "é")

    @pytest.mark.parametrize(
        "named",
        [(), ("~7~clean",), ("clean", "é"), ("rejected", "absent", "rejected"), ("cle", "lean"), NAMES, None],
        ids=["none", "a branch", "the base", "one that is not there", "no part of a name", "all", "whole"],
    )
    def test_a_retract_empties_what_it_names(self, bench: Workbench, named: tuple[str, ...] | None) -> None:
        for key in ("k", "k2"):
            held = bench.new(key)
            bench.complete(held, *(head(held, block(name), dataset=name) for name in self.NAMES))
        before = {found.dataset: found for found in bench.store.heads(SOURCE, key="k")}
        now = bench.clock.advance(MINUTE)
        seen = bench.get("k")
        after = bench.act(Action.RETRACT, "k", datasets=named)
        assert after == replace(seen, last_op=after.last_op, updated_at=now)
        emptied = {name for name in self.NAMES if named is None or name in named}
        found = {each.dataset: each for each in bench.store.heads(SOURCE, key="k")}
        gone: dict[str, Any] = {"blocks": (), "rows": 0, "bytes": 0, "published_at": now}
        assert found == {name: replace(old, **gone) if name in emptied else old for name, old in before.items()}
        assert stored(bench, "k2") == {name: [name] for name in self.NAMES}
        [entry] = bench.store.audit(SOURCE, "k")
        assert entry["action"] == "retract"

    def test_a_narrowed_one_of_what_was_seen_otherwise_empties_nothing(self, bench: Workbench) -> None:
        held = bench.new("k")
        bench.complete(held, head(held, block("b1")))
        late = bench.acting(Action.RETRACT, bench.get("k"), datasets=("clean",))
        bench.act(Action.RESET, "k")
        held = bench.acquire("k")
        assert not bench.store.act(late).applied
        bench.complete(held, head(held, block("b2")))
        assert not bench.store.act(late).applied
        assert stored(bench) == {"clean": ["b2"]}
        assert bench.get("k").held_under(fence(held)) is False


class Enabling:
    """Code that knows no branches is kept out from the moment that a person says so (promise S16)."""

    def test_it_is_said_once_and_never_taken_back(self, bench: Workbench) -> None:
        enabling = bench.enabling
        assert (enabling.outputs_enabled(), enabling.branches_enabled()) == (False, False)
        enabling.enable_outputs()
        assert (enabling.outputs_enabled(), enabling.branches_enabled()) == (True, False)
        for say in (enabling.enable_branches, enabling.enable_outputs, enabling.enable_branches):
            say()
            assert (enabling.outputs_enabled(), enabling.branches_enabled()) == (True, True)
        bench.store.setup()
        assert enabling.branches_enabled()

    def test_who_knows_branches_knows_overlays(self, bench: Workbench) -> None:
        bench.enabling.enable_branches()
        assert bench.enabling.outputs_enabled()
