"""A real store on which a trace is played: each line becomes a call of the store, or of the real settling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from airflow_coordination.leases.acquisition import Acquisition
from airflow_coordination.leases.lease import Lease
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.writes import Begin, ChainWrite, Save
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.conformance.fixtures import MINUTE, TIMEOUT
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotOwnedError
from airflow_coordination.values.settings import Settings
from tests.model.messages import KEY, SOURCE, Messages
from tests.model.traces import Step, Trace, op_id

MESSAGE_AGE = 15 * MINUTE
"""How long a signed request is accepted."""
YEARS = timedelta(days=1000)
Remove = Callable[[bool], None]
"""Does what TTL does now; given whether there is all the time in the world for it."""
WHEN_DUE = ("acquire_hint", "acquire_query", "retake", "reclaim", "fused")


class Replay(Messages):
    """One trace on one store.

    :param remove: how partitions vanish from this store.
    :param max_lost: so many lost leases park.
    :param old: TTL comes after years; otherwise while a message may still be under way.
    """

    def __init__(
        self, store: PartitionStore, clock: FakeClock, trace: Trace, remove: Remove, max_lost: int, *, old: bool
    ) -> None:
        super().__init__(store, clock, trace, max_lost)
        self.remove, self.old = remove, old

    def do(self, step: Step) -> str:
        """Do what the line says, and return in one word what became of it."""
        if step.verb == "sends":
            self.send(step)
            return "sent"
        if step.verb in ("applies", "refuses"):
            return self.deliver(step)
        if step.verb == "learns":
            return self.renewed(self.leases[step.who])
        if step.verb == "adopts":
            return self.adopted(step)
        if step.verb == "starts":
            return self.second_driver(step)
        if step.verb == "does not find":
            return "found" if self.store.find_nonce(SOURCE, op_id(step.op)) else "not found"
        return self.time_to_live()

    def renewed(self, lease: Lease) -> str:
        """Return what the real coordinator makes of the answer to one more copy of a renewal."""
        try:
            self.tenures.renew(lease)
        except PartitionNotOwnedError:
            return "refused"
        return "ok"

    def adopted(self, step: Step) -> str:
        """Put the running tenure under the watch of a later try, as the real coordinator does."""
        settings = Settings(ownership_timeout=TIMEOUT)
        by = Acquisition(
            self.store, SOURCE, self.owner(step.who), settings, self.settler, self.tenures, self.clock, self.ops
        )
        fence = self.seen().fence
        assert fence is not None
        return "adopted" if by.adopt(KEY, fence) else "refused"

    def time_to_live(self) -> str:
        """Let TTL do what it does: at once while a message lives, otherwise after years."""
        self.clock.advance(YEARS if self.old else MESSAGE_AGE)
        self.remove(self.old)
        return "kept" if self.now() else "deleted"

    def second_driver(self, step: Step) -> str:
        """Start a second driver process with what the first was handed: its first write is ``begin``."""
        assert self.handed is not None
        self.leases[step.who] = self.handed
        write = Begin(source=SOURCE, key=KEY, fence=self.handed.fence, op="b" * 24, timeout=TIMEOUT)
        return self.settled(write, self.handed)

    def deliver(self, step: Step) -> str:
        """Let the store meet the message now; the sender, if it hears the answer, settles it by the real rules."""
        if step.verb == "applies" and (step.kind in WHEN_DUE) and self.waits():
            self.clock.advance(TIMEOUT)
        if step.verb == "applies" and step.kind == "steal":
            self.clock.advance(MINUTE)  # the time that was given with the question
        if not step.told:
            return "applied" if self.sent[step.op]() else "refused"
        if step.op not in self.writes:
            return "ok" if self.sent[step.op]() else "refused"
        lease = self.leases[step.who]
        return self.settled(self.writes[step.op], lease)

    def waits(self) -> bool:
        """Return whether the partition can be had only when its time has come."""
        found = self.now()
        return found is not None and found.status in ("ASSIGNED", "CLOSED")

    def settled(self, write: ChainWrite, lease: Lease) -> str:
        """Return what the real settling says of a write that may have been applied before."""
        chain = lease.chain
        chain.unsettled = write
        try:
            self.settler.settle("trace", write, chain)
        except PartitionNotOwnedError:
            return "refused"
        except OutcomeUnknownError:
            return "unknown"
        if isinstance(write, Save):
            chain.partition = replace(chain.partition, progress_text=write.progress_text, staged=write.staged)
        return "ok"
