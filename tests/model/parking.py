"""What follows a parking at the source (a message is given again, somebody is called): the promise S27.

The owner says it beforehand, in its chain, and it stays with the partition's generation. A parked partition for which
something was said is the note itself, whoever has parked it. Somebody does it, and takes it out of the partition.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.model.operations import fenced, follows
from tests.model.rules import Scenario
from tests.model.sending import may_send, sent
from tests.model.state import FOLLOWED, PARKED, PERSON, FollowUp, Item, Message, State, put

Happening = tuple[tuple[object, ...], State, str]


def say(item: Item, m: Message, due: bool, scenario: Scenario) -> Item | None:
    """Store what is to follow when the partition is parked, in the place of what was said before."""
    in_chain = scenario.rules.said_in_chain
    if not (follows(item, m, scenario.rules) if in_chain else fenced(item, m, scenario.rules)):
        return None
    return item._replace(said=(item.generation, m.op), last_op=m.op)


def happenings(state: State, scenario: Scenario) -> Iterator[Happening]:
    """Yield what anybody may do about a parked partition that they have read."""
    for part, item in enumerate(state.items[: scenario.partitions]):
        if not _is_note(item, scenario):
            continue
        other_life = item.said[0] != item.generation
        broken = f"S27: {item.said[1]}, of another life, is done because of {item.last_op}" if other_life else ""
        if _is_done(state, item, part):
            if may_send(state, FOLLOWED, scenario):
                after, new = sent(state, FOLLOWED, PERSON, part, token=item.token, prev=item.last_op)
                yield ("is sent:", new), after, ""
        else:
            done = FollowUp(item.last_op, part, stored=False, done=True)
            after = state._replace(follow_ups=tuple(sorted([*state.follow_ups, done])))
            yield ("somebody does what follows the parking", item.last_op), after, broken


def taken_out(state: State, m: Message, scenario: Scenario) -> tuple[State, str]:
    """Return the state without the note that ``m`` takes away, and what is lost by it."""
    item = state.items[m.part]
    named = (item.token, item.last_op) == (m.token, m.prev) or not scenario.rules.followed_names_parking
    if item.status != PARKED or not item.said or not named:
        return state, ""
    lost = _is_note(item, scenario) and not _is_done(state, item, m.part)
    after = state._replace(items=put(state.items, m.part, item._replace(said=())))
    return after, f"S27: what follows {item.last_op} is not done, and nobody knows of it" if lost else ""


def _is_note(item: Item, scenario: Scenario) -> bool:
    if item.status != PARKED or not item.said:
        return False
    return item.said[0] == item.generation or not scenario.rules.said_of_one_generation


def _is_done(state: State, item: Item, part: int) -> bool:
    return any((one.op, one.part) == (item.last_op, part) for one in state.follow_ups)
