"""Hiding, restoring and purging; and what is emptied because it cannot show any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tests.model.branches.rules import Scenario
from tests.model.branches.showing import counts, hidden_for_good, newest
from tests.model.branches.state import (
    BASE,
    BELIEVES,
    FINAL,
    HIDDEN,
    PUBLISHED,
    PURGING,
    ROLLED_BACK,
    SEEN,
    SURE,
    Accepted,
    Head,
    Partition,
    Purger,
    State,
    put,
    states,
    with_partition,
    with_view,
)

Happening = tuple[str, State]


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what is hidden, restored or emptied next."""
    for key, partition in enumerate(state.partitions):
        if scenario.hides:
            yield from _of_entry(state, key, partition, scenario)
        if scenario.slow:
            yield from _slowly(state, key, partition, scenario)
        if scenario.empties and not partition.held:
            yield from _emptied(state, key, partition, scenario)
        if scenario.moves:
            yield from _moved(state, key, partition, scenario)


def _of_entry(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield changes of the view, and a purger that is done in an instant."""
    entry, rules = partition.entry, scenario.rules

    def viewed(**values: object) -> State:
        return with_view(state, key=key, partition=partition._replace(**values))

    if not entry:
        yield f"the interval of partition {key} is hidden", viewed(entry=HIDDEN)
    if entry == HIDDEN or (entry and not rules.irrevocable):
        accepted = tuple(each._replace(doomed=each.doomed and entry == HIDDEN) for each in partition.accepted)
        restored = viewed(entry="", accepted=accepted, purger=_outlived(partition.purger))
        yield f"the interval of partition {key} is restored", restored
    if entry == HIDDEN and rules.marked_first and not _is_early(partition, scenario):
        accepted = _doomed(state, partition, scenario)
        yield f"the interval of partition {key} is marked as purging", viewed(entry=PURGING, accepted=accepted)
    if entry == PURGING:
        places = _inside(partition, scenario)
        if places and not partition.held:
            after = _retracted(partition, places, scenario)
            yield f"another purger retracts {_said(places)} of partition {key}", with_partition(state, key, after)
        if not _left(state, partition, places, scenario):
            out = viewed(entry="", purger=_outlived(partition.purger))
            yield f"another purger takes the entry of partition {key} out", out


def _is_early(partition: Partition, scenario: Scenario) -> bool:
    """Return whether something is under way that was sent before what it is about was hidden, or marked."""
    rules, ending = scenario.rules, partition.ending
    if rules.purges_late and partition.moved == "":
        return True
    return rules.marked_after_endings and ending is not None and ending.adds


def _doomed(state: State, partition: Partition, scenario: Scenario) -> tuple[Accepted, ...]:
    """Return what was accepted; what of it lies in the interval, and counts, is to be deleted from now on."""

    def goes(each: Accepted) -> bool:
        return each.dated and (not scenario.by_mark or counts(each.place, states(state)))

    return tuple(each._replace(doomed=each.doomed or goes(each)) for each in partition.accepted)


def _outlived(purger: Purger | None) -> Purger | None:
    return purger and purger._replace(current=False)


def _inside(partition: Partition, scenario: Scenario) -> tuple[int, ...]:
    """Return the head records that are to be emptied."""
    all_of_it = not scenario.by_mark or not scenario.rules.marked_first
    going = {each.place for each in partition.accepted if each.doomed or (each.dated and all_of_it)}
    return tuple(
        place for place, head in enumerate(partition.heads) if place in going and head is not None and head.rows
    )


def _left(state: State, partition: Partition, places: Collection[int], scenario: Scenario) -> bool:
    if scenario.rules.purges_all:
        return bool(places)
    found = newest(list(enumerate(partition.heads)), states(state), scenario.rules)
    return found is not None and found[0] in places


def _slowly(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield what a purger does next that may sleep at any point: view, partition, the view again, retract."""
    purger, rules = partition.purger, scenario.rules
    there = partition.entry == PURGING if rules.marked_first else bool(partition.entry)

    def becomes(said: str, purger: Purger | None) -> Happening:
        return f"the purger {said}", with_partition(state, key, partition._replace(purger=purger))

    if purger is None and there:
        yield becomes(f"reads the view: the interval of partition {key} is to be purged", Purger())
    elif (
        purger is not None
        and purger.phase == BELIEVES
        and not partition.held
        and (places := _inside(partition, scenario))
    ):
        said = f"reads partition {key}, with {_said(places)} in the interval"
        yield becomes(said, purger._replace(phase=SEEN if rules.looks_again else SURE, places=places))
    elif purger is not None and purger.phase == SEEN:
        still = there and (purger.current or not rules.same_entry)
        said = f"reads the view again: {'it still is' if still else 'not any more, or by another entry'}"
        yield becomes(said, purger._replace(phase=SURE) if still else None)
    elif purger is not None and purger.phase == SURE and not partition.held:
        places = purger.places if rules.narrowed else tuple(range(len(partition.heads)))
        after = _retracted(partition, places, scenario)._replace(purger=None)
        yield f"the purger's retract of partition {key} is applied", with_partition(state, key, after)


def _retracted(partition: Partition, places: Collection[int], scenario: Scenario) -> Partition:
    """Return the partition after a narrowed retract. Where no mark says what goes, an entry is enough."""
    heads = tuple(
        head._replace(rows=()) if head is not None and place in places else head
        for place, head in enumerate(partition.heads)
    )
    right = not scenario.by_mark and partition.entry == PURGING
    accepted = tuple(
        each._replace(doomed=each.doomed or (right and each.dated and each.place in places))
        for each in partition.accepted
    )
    return partition.written(as_seen=scenario.rules.purges_as_seen, heads=heads, accepted=accepted)


def _emptied(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield what is emptied because nobody can see it any more.

    Both reasons stay once they are there, and the retract names the partition as it was read: one step.
    """
    view = states(state)
    by = (FINAL,) if scenario.rules.final else (FINAL, PUBLISHED)
    for place, head in enumerate(partition.heads):
        if head is not None and head.rows:
            gone = place != BASE and view[place - 1] == ROLLED_BACK
            if gone or (hidden_for_good(partition, place, view, by) and _aged(state, key, place, scenario)):
                yield _empties(state, key, partition, place, head, scenario)


def _empties(state: State, key: int, partition: Partition, place: int, head: Head, scenario: Scenario) -> Happening:
    heads = put(partition.heads, place, head._replace(rows=()))
    after = partition.written(as_seen=scenario.rules.purges_as_seen, heads=heads)
    return f"{_said((place,))} of partition {key} is emptied: nobody can see it", with_partition(state, key, after)


def _aged(state: State, key: int, place: int, scenario: Scenario) -> bool:
    return not scenario.rules.aged or state.reader is None or (key, place) in state.reader.hidden


def _moved(state: State, key: int, partition: Partition, scenario: Scenario) -> Iterator[Happening]:
    """Yield what becomes of other intervals for what the base has; they are conditioned on that, not on the partition.

    Who sends one has read the view.
    """
    head = partition.heads[BASE]
    if head is None or not head.dated or not head.rows:
        return
    allowed = {"hidden": ("",), "purging": ("", HIDDEN), "never": ("", HIDDEN, PURGING)}
    if partition.moved is None and partition.entry in allowed[scenario.rules.interval_stays]:
        sent = partition._replace(moved=partition.entry)
        yield f"another interval is sent for what partition {key} has in the base", with_partition(state, key, sent)
    if partition.moved is not None:
        heads = put(partition.heads, BASE, head._replace(dated=False))
        accepted = tuple(
            each._replace(dated=False, doomed=False) if each.place == BASE else each for each in partition.accepted
        )
        after = partition._replace(heads=heads, accepted=accepted, moved=None)
        yield f"what partition {key} has in the base is of another interval", with_partition(state, key, after)


def _said(places: Collection[int]) -> str:
    return " and ".join(f"what branch {place} has" if place else "what the base has" for place in places)
