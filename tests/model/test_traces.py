"""Each trace of ``holes.txt`` on the real stores: where a loosened rule broke a promise, they must keep it.

``HOLES`` says for each trace at which step the real store, or the real settling of its answer, must answer otherwise
than in the trace, and with what. All other steps go as the trace has them, and the partition is then as it says.
A trace's last step on which the store must do the same, but with another effect, is judged by what is checked after
every step (``ledger``): fences, closes, timeouts that were promised, and the rows that a reader sees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from airflow_coordination.leases.outcomes import CompleteRequest
from tests.model.ledger import Ledger
from tests.model.replay import Replay
from tests.model.stores import StoreSetup
from tests.model.traces import Seen, Step, op_id, traces


@dataclass(frozen=True, slots=True)
class Hole:
    """What the real store must answer where the trace goes wrong.

    :param otherwise: step → what became of it, where that is not what the trace says; ``never``: nobody gets that far.
    :param differs_from: the step from which on the partition is not as in the trace; by default the first of these.
    :param max_lost: so many lost leases park.
    :param old: TTL comes after years; otherwise while a message may still be under way.
    """

    otherwise: dict[int, str] = field(default_factory=dict)
    differs_from: int = 0
    max_lost: int = 5
    old: bool = True


HOLES = {
    "H1": Hole({6: "refused"}),  # renew, when the tenure was reclaimed
    "H2": Hole({5: "ok"}),  # the second copy of a renewal
    "H3": Hole({7: "ok"}),  # a save that was applied, after the tenure: the ring's entry names it as the last
    "H4": Hole({5: "refused", 6: "never"}),  # the second driver's begin
    "H4b": Hole({5: "refused", 6: "never", 7: "never", 8: "ok"}),  # so that the first driver's save is its own
    "H5": Hole({3: "refused"}),  # the second copy of an acquisition by hint
    "H5b": Hole({7: "refused"}, differs_from=4),  # the same in the next life: the tombstone's token goes on
    "H5c": Hole({7: "refused"}, differs_from=4),
    "H5d": Hole({5: "kept", 6: "refused"}, old=False),  # nothing is deleted while the create may come again
    "H5e": Hole({3: "refused"}, differs_from=2),  # the same create, over the tombstone of what it made
    "H6": Hole({9: "ok"}),  # a close, after a sweep has ended the tenure of the next owner
    "H7": Hole({3: "refused"}),  # the second copy of a reset
    "H7b": Hole({6: "refused"}),  # a person's action on what has completed meanwhile
    "H8": Hole(),  # rows once: reset clears the staged blocks
    "H9": Hole({7: "kept"}),  # TTL, after a reset
    "H10": Hole({6: "ok"}),  # a completion, when the partition is gone: the head record names it
    "H11": Hole(),  # rows of the last commit, though its token is smaller
    "H12": Hole(),  # rows of both passes
    "H13": Hole(),  # the save's earlier timeout does not count
    "H14": Hole({3: "refused"}),  # the second copy of "complete and acquire next": no completion, no next
    "H15": Hole({5: "refused"}),  # the second copy of a save
    "H16": Hole({4: "refused"}, max_lost=1),  # an acquisition at the last lost lease
    "H16b": Hole(max_lost=1),  # a sweep, when nobody ever drove the partition
    "H17": Hole({5: "refused"}),  # a retake by a lower try than the one that adopted
    "H18": Hole({12: "refused"}, differs_from=7),  # a retake, in the next life
    "H19": Hole(),  # a completion in the next life, under a token that completed before
    "H37": Hole({8: "refused"}),  # a theft from the next one, who was not asked
    "H37b": Hole({12: "refused"}),  # the second copy of a theft, when its sender has asked again
    "H37c": Hole({5: "refused"}),  # a theft whose question has not arrived
}


def says(step: Step) -> str:
    """Return what became of a step in the trace."""
    if step.told:
        return step.told
    plain = {"sends": "sent", "applies": "applied", "adopts": "adopted", "does not find": "not found"}
    return plain.get(step.verb, "deleted")


def shown(replay: Replay) -> Seen | None:
    """Return the partition as the traces show one; progress as far as it is compared."""
    found = replay.now()
    if found is None:
        return Seen("absent", 0, "", "", 0)
    return Seen(str(found.status), found.token, found.nonce, found.last_op, int(found.progress_text or 0))


def same(real: Seen | None, step: Step) -> bool:
    """Return whether the partition is as in the trace, where all rows stand for a completion's progress."""
    if step.state is None or real is None or step.kind == "fused":
        return True
    done = step.state.status in ("COMPLETED", "absent")
    return real == step.state or (done and (real.status, real.token) == (step.state.status, step.state.token))


def play(name: str, setup: StoreSetup) -> Replay:
    """Play a trace to its end, and check what becomes of every step."""
    store, clock, remove = setup
    hole, trace = HOLES[name], traces()[name]
    replay = Replay(store, clock, trace, remove, hole.max_lost, old=hole.old)
    ledger, differs = Ledger(replay), hole.differs_from or min(hole.otherwise, default=99)
    for step in trace.steps:
        expected = hole.otherwise.get(step.number, says(step))
        if expected == "never":
            continue
        before = replay.now()
        became = replay.do(step)
        assert became == expected, f"step {step.number} of {name}: {step.said}"
        if became == "refused":
            assert replay.now() == before, f"step {step.number} of {name} was refused and changed something"
        if step.number < differs:
            assert same(shown(replay), step), f"after step {step.number} of {name}: {replay.now()}"
        ledger.observe(step, became)
    return replay


@pytest.mark.parametrize("name", ["H5", "H5b", "H5c", "H5d", "H5e", "H18"])
def test_s1_no_fence_is_given_twice(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H1", "H15"])
def test_s2_an_owners_write_counts_once_and_under_its_fence_only(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H7", "H7b"])
def test_s3_people_change_what_they_saw_and_nothing_else(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H14"])
def test_s5_no_next_partition_without_the_completion(name: str, setup: StoreSetup) -> None:
    """On DynamoDB the two halves are two steps, and the second is taken under the same condition."""
    play(name, setup)


@pytest.mark.parametrize("name", ["H2", "H3", "H4", "H4b", "H6", "H10"])
def test_s6_what_became_of_a_write_is_known(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H13"])
def test_s8_an_acknowledged_renewal_holds(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H8", "H11", "H12"])
def test_s12_readers_see_each_row_of_the_accepted_writes_once(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H37", "H37b", "H37c"])
def test_s28_only_who_has_asked_for_this_tenure_steals_it_and_once(name: str, setup: StoreSetup) -> None:
    play(name, setup)


@pytest.mark.parametrize("name", ["H9"])
def test_l1_what_waits_again_is_not_removed(name: str, setup: StoreSetup) -> None:
    """DynamoDB's TTL finds nothing any more; in SQL somebody deletes what is COMPLETED, which this is not."""
    play(name, setup)


def test_l1_a_second_life_completes(setup: StoreSetup) -> None:
    """H19: the head record of the life before, under the same token, is replaced."""
    replay = play("H19", setup)
    lease = replay.start(replay.store.acquire_next(replay.following("op8", "W0")))
    assert lease.fence.token == 1
    replay.ops.next = op_id("op9")
    end = replay.tenures.prepare(lease, CompleteRequest(), [])
    assert replay.store.write(end).applied


@pytest.mark.parametrize("name", ["H17"])
def test_l2_an_adopted_driver_is_not_cut_off(name: str, setup: StoreSetup) -> None:
    play(name, setup)


def test_l5_only_a_sweep_goes_on_at_the_last_lost_lease(setup: StoreSetup) -> None:
    play("H16", setup)


def test_l5_a_phantom_parks_nothing(setup: StoreSetup) -> None:
    """H16b goes on: the lease that nobody drove ends, and the sweep takes it back."""
    replay = play("H16b", setup)
    replay.clock.advance(replay.seen().ownership_timeout - replay.clock.now())  # type: ignore[operator]
    swept = replay.store.sweep(replay.sweeping())
    assert (swept.reclaimed, swept.parked) == (1, 0)


def test_every_trace_is_played() -> None:
    assert set(traces()) == set(HOLES)
