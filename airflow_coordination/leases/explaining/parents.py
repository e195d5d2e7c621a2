"""The wait for parents: which of its parents have not finished, and what each is doing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from airflow_coordination.leases.explaining.explanation import Explanation, Reason
from airflow_coordination.leases.explaining.facts import SourceFacts, above
from airflow_coordination.leases.explaining.wording import ahead, as_sentence, counted, holder, told
from airflow_coordination.protocol import remedies
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.values.input_errors import shown
from airflow_coordination.values.status import PartitionStatus

NAMED: Final = 5
"""The most parents that are named."""
_RELEASED: Final = "The step that completes the last of them makes it claimable."
_SWEPT: Final = "The next sweep of a sensor makes it claimable."
_GONE: Final = "Nothing happens by itself: finish it, or delete it and create it again without what is not there."
_BY_A_PERSON: Final = "Nothing happens by itself: reopen what is parked, or finish it, and it counts as completed."


def blocked(partition: Partition, facts: SourceFacts, now: datetime) -> Explanation:
    """Explain what waits for its parents: those that only a person can move first, then what the others do."""
    by_key = {one.key: one for one in facts.above}
    nearest = sorted(partition.waits_for, key=lambda key: not (key in by_key and by_key[key].parked))
    waits = [f"{shown(key)} {_state(by_key.get(key), by_key, now)}" for key in nearest[:NAMED]]
    if (more := len(nearest) - NAMED) > 0:
        waits.append(f"and {more} more")
    sentence = f"Partition {shown(facts.key)} waits for {counted(len(nearest), 'parent')}: {'; '.join(waits)}"
    parked = next((one for one in facts.above if one.parked), None)
    if parked is not None:
        command = remedies.command("reopen", facts.source, parked.key, prefix=facts.prefix, shell=facts.shell)
        return Explanation(facts.key, Reason.BLOCKED, as_sentence(sentence), _BY_A_PERSON, command)
    there = [one for one in facts.above if not one.deleted or one.cleaned_up]
    if not there:
        command = remedies.command("finish", facts.source, facts.key, prefix=facts.prefix, shell=facts.shell)
        return Explanation(facts.key, Reason.BLOCKED, as_sentence(sentence), _GONE, command)
    farthest = there[-1]  # of a long chain not all is read: there one goes on to ask
    first = next((one for one in there if not one.blocked), farthest)
    if first.status is PartitionStatus.COMPLETED:
        status = remedies.command("status", facts.source, prefix=facts.prefix, shell=facts.shell)
        return Explanation(facts.key, Reason.BLOCKED, as_sentence(sentence), _SWEPT, status)
    why = remedies.command("explain", facts.source, first.key, prefix=facts.prefix, shell=facts.shell)
    return Explanation(facts.key, Reason.BLOCKED, as_sentence(sentence), _RELEASED, why)


def _state(seen: Partition | None, by_key: dict[str, Partition], now: datetime) -> str:
    """Return what a parent does, as the rest of a sentence."""
    if seen is None or seen.deleted:
        return "is not there"
    if seen.status is PartitionStatus.COMPLETED:
        return "has completed since"
    if seen.parked:
        return f"is parked ({told(seen.last_error, 'without an error')})"
    if seen.status is PartitionStatus.ASSIGNED:
        ended = seen.ownership_timeout is not None and seen.ownership_timeout <= now
        return f"{'was' if ended else 'is'} held by {holder(seen.owner)}{', and its lease has ended' if ended else ''}"
    if seen.blocked:
        return f"waits for {_named(seen.waits_for)}{_parked_above(seen, by_key)}"
    due = seen.reopen_at if seen.status is PartitionStatus.CLOSED else seen.available_at
    return "can be acquired" if due is None or due <= now else f"waits until {ahead(due, now)}"


def _parked_above(seen: Partition, by_key: dict[str, Partition]) -> str:
    """Return what is parked somewhere above what is blocked itself."""
    parked = [one.key for one in above(seen, by_key.get) if one.parked]
    return f", and above it {_named(parked)} {'is' if len(parked) == 1 else 'are'} parked" if parked else ""


def _named(keys: Sequence[str]) -> str:
    first = ", ".join(map(shown, keys[:NAMED]))
    return f"{first}, …" if len(keys) > NAMED else first
