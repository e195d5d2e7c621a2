"""An owner's writes: every one takes the lease, fence included, never just a key (design decision 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from airflow_coordination.leases.confirm import Settler, not_owned
from airflow_coordination.leases.lease import Chain, Lease, lease_time
from airflow_coordination.leases.outcomes import CompleteRequest, EndRequest, Tenure, interval_in, said_interval
from airflow_coordination.leases.viewing.branches import BranchRules
from airflow_coordination.protocol.follow_up import promised
from airflow_coordination.protocol.pages import every_head
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import Answer, HeadRecord
from airflow_coordination.protocol.side_writes import added_to, head_records, may_add
from airflow_coordination.protocol.writes import Begin, ChainWrite, End, OnParked, Renew, Save
from airflow_coordination.values import accounting
from airflow_coordination.values.accounting import Accounting
from airflow_coordination.values.blocks import Block, dump_blocks, merge
from airflow_coordination.values.documents import encode_progress
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotFoundError, StoreUnavailableError
from airflow_coordination.values.fence import Ending, Fence
from airflow_coordination.values.input_errors import ProgressStateError
from airflow_coordination.values.settings import Settings
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Clock, Randomness


class Tenures:
    """Renews, saves and ends tenures.

    :param store: the store.
    :param settings: timers and limits.
    :param settler: sends the writes.
    """

    def __init__(
        self, store: PartitionStore, settings: Settings, settler: Settler, clock: Clock, randomness: Randomness
    ) -> None:
        self._store, self._settings, self._settler = store, settings, settler
        self._clock, self._randomness = clock, randomness
        self._unheard_begins: dict[Fence, tuple[Begin, Chain]] = {}
        """What the next call under the same fence goes on with; a new write would take the old one for a rival's."""

    def start(self, partition: Partition, sent_at: float) -> Lease:
        """Return the lease on a partition acquired by a request sent at ``sent_at`` (own monotonic time)."""
        expires_at = partition.ownership_timeout
        assert expires_at is not None, "an ASSIGNED partition has a timeout"
        deadline = sent_at + lease_time(self._settings, partition.source).total_seconds()
        chain = Chain(partition.last_op, partition, expires_at, deadline, accounting.said(partition))
        return Lease(partition, Fence(partition.token, partition.nonce), expires_at, chain)

    def begin(self, source: str, key: str, fence: Fence, owner_details: str | None = None) -> Lease:
        """Go on with a tenure that a task started: a driver's first write.

        :param owner_details: what the driver says of itself.
        :raises PartitionNotOwnedError: with ending *overtaken* when another driver process was first.
        """
        sent_at = self._clock.monotonic()
        unheard = self._unheard_begins.pop(fence, None)
        write, chain = unheard or self._beginning(source, key, fence, owner_details)
        chain.deadline = sent_at + self._settings.request_deadline.total_seconds()
        try:
            with chain.lock:
                answer = self._settler.settle("begin", write, chain)
            partition = answer.partition if answer and answer.partition else self._read_begun(source, key)
        except (OutcomeUnknownError, StoreUnavailableError):
            self._unheard_begins[fence] = write, chain
            raise
        if not partition.held_under(fence):
            raise not_owned(key, fence, partition)
        return self.start(partition, sent_at)

    def _beginning(self, source: str, key: str, fence: Fence, owner_details: str | None) -> tuple[Begin, Chain]:
        write = Begin(
            source=source,
            key=key,
            fence=fence,
            op=self._randomness.op_id(),
            timeout=lease_time(self._settings, source),
            owner_details=owner_details,
        )
        unknown = Partition(
            source=source, key=key, status=PartitionStatus.ASSIGNED, token=fence.token, nonce=fence.nonce
        )
        return write, Chain(fence.nonce, unknown, self._clock.now(), 0.0)

    def _read_begun(self, source: str, key: str) -> Partition:
        try:
            return self._read(source, key)
        except StoreUnavailableError as error:  # it has begun: "nothing was written" would be wrong
            raise OutcomeUnknownError("begin", error.reason) from error

    def renew(self, lease: Lease) -> Lease:
        """Hold the lease for another ownership timeout, and the grace.

        Repeated until heard or the lease's own deadline.
        """
        lease.chain.check_process()
        source = lease.partition.source
        write = Renew(source=source, key=lease.key, fence=lease.fence, timeout=lease_time(self._settings, source))

        def send() -> tuple[float, Answer]:
            return self._clock.monotonic(), self._store.write(write)

        deadline = max(lease.chain.deadline, self._clock.monotonic() + 1)
        sent_at, answer = self._settler.repeat("renew", send, deadline)
        if not answer.applied:
            self._check_held(lease, answer.partition)
        return self._prolonged(lease, answer, sent_at)

    def _check_held(self, lease: Lease, now: Partition | None) -> None:
        """Raise for a refused renewal, unless the lease is held all the same: then it is held for longer already."""
        if now is None:
            raise PartitionNotFoundError(lease.key, lease.partition.source)
        if not now.held_under(lease.fence):
            raise self._settler.refusal(lease.key, lease.fence, now, lease.chain)

    def save(self, lease: Lease, state: object, blocks: Sequence[Block], counted: Accounting | None = None) -> Lease:
        """Store progress and the blocks finished since the last save, with what was counted; also renews."""
        lease.chain.check_process()
        if state is None:
            raise ProgressStateError(
                "progress_state", None, "would wipe the saved progress", "Save what is done so far, or use renew()"
            )
        text = encode_progress(state)
        chain = lease.chain
        with chain.lock:
            self._settle_earlier(chain)
            partition = chain.partition
            staged = merge(partition.staged, blocks)
            dump_blocks(staged)
            totals = accounting.after(partition, counted, partition.generation)
            sent_at = self._clock.monotonic()
            write = Save(
                source=partition.source,
                key=partition.key,
                fence=lease.fence,
                op=self._randomness.op_id(),
                prev=chain.last_op,
                progress_text=text,
                staged=staged,
                timeout=lease_time(self._settings, partition.source),
                accounting=totals,
            )
            answer = self._settler.settle(f"save progress of {partition.key!r}", write, chain)
            _saved(chain, write)
            return self._prolonged(lease, answer, sent_at) if answer else replace(lease, partition=chain.partition)

    def on_parked(self, lease: Lease, text: str | None) -> None:
        """Store what is to follow when the partition is parked, in the place of what was said before."""
        chain = lease.chain
        chain.check_process()
        with chain.lock:
            self._settle_earlier(chain)
            partition = chain.partition
            write = OnParked(
                source=partition.source,
                key=partition.key,
                fence=lease.fence,
                op=self._randomness.op_id(),
                prev=chain.last_op,
                text=promised(partition, text),
            )
            self._settler.settle(f"say what follows when {partition.key!r} is parked", write, chain)

    def end(
        self,
        lease: Lease,
        request: EndRequest,
        blocks: Sequence[Block] = (),
        *,
        send: Callable[[End], Answer] | None = None,
    ) -> tuple[End, bool]:
        """End the tenure as ``request`` wishes; publish ``blocks`` and staged ones, where it publishes.

        The same request again after :class:`OutcomeUnknownError` is the same ending, not a second one.

        :param send: sends the write, where another step goes with it.
        :return: the write, and whether the store's answer to it was heard.
        """
        chain, asked = lease.chain, (request, tuple(blocks))
        chain.check_process()
        with chain.lock:
            asked_before = chain.asked
            earlier = self._settle_earlier(chain)
            if isinstance(earlier, End) and asked_before == asked:
                return earlier, False
            write, chain.asked = self.prepare(lease, request, blocks), asked
            sender = (lambda: send(write)) if send else None
            action = f"end ({write.outcome}) partition {write.key!r}"
            answer = self._settler.settle(action, write, chain, sender)
            chain.ending = chain.ending or ending_of(write)
            chain.released = answer.released if answer else 0
            return write, answer is not None

    def prepare(self, lease: Lease, request: EndRequest, blocks: Sequence[Block]) -> End:
        """Return the ending write, with the head records it publishes. The caller holds the chain.

        :raises BranchError: when nobody would see it, or it would hide what readers see.
        """
        op, chain, partition = self._randomness.op_id(), lease.chain, lease.chain.partition
        write = Tenure(partition, lease.fence, chain.last_op, chain.totals).ended(request, op, self._settings)
        if not write.clear_staged:
            return write
        published = merge(partition.staged, blocks)
        present = self._present(partition, published)
        added = added_to(partition, published, present)
        if added or partition.branch is not None:
            branches = BranchRules(self._store, self._settler)
            view = branches.check_ending(partition, added, present)
            if write.then is not None and branches.leaves_out_notes(partition, view):
                write = replace(write, then=None)
        empty = request.empty if isinstance(request, CompleteRequest) else ()
        if not (published or empty):
            return write
        totals = accounting.published_with(write, partition, counted=request.counted is not None)
        interval = said_interval(request.interval) or interval_in(partition)
        heads = head_records(partition, published, present, write.op, totals, interval, empty)
        for head in heads:
            dump_blocks(head.blocks)
        rows, bytes_ = sum(block.rows for block in published), sum(block.bytes for block in published)
        return replace(write, heads=heads, rows=rows, bytes=bytes_)

    def _present(self, partition: Partition, published: tuple[Block, ...]) -> dict[str, HeadRecord]:
        """Return the partition's head records by their stored names, if its ending may add to them."""
        if not published or not may_add(partition, published):
            return {}
        hear = self._settler.attempts("read the head records").hear
        found = every_head(self._store, partition.source, key=partition.key, hear=hear)
        return {head.dataset: head for head in found}

    def _settle_earlier(self, chain: Chain) -> ChainWrite | None:
        """Settle a write whose outcome was left unknown, before the chain goes on; return it."""
        earlier: ChainWrite | None = chain.unsettled
        if earlier is None:
            return None
        self._settler.settle("settle the write before", earlier, chain)
        if isinstance(earlier, Save):
            _saved(chain, earlier)
        elif isinstance(earlier, End):
            chain.ending = chain.ending or ending_of(earlier)
        return earlier

    def _prolonged(self, lease: Lease, answer: Answer, sent_at: float) -> Lease:
        chain = lease.chain
        expires_at = answer.expires_at or (answer.partition.ownership_timeout if answer.partition else None)
        chain.expires_at = max(chain.expires_at, expires_at or chain.expires_at)
        held_for = lease_time(self._settings, chain.partition.source)
        chain.deadline = max(chain.deadline, sent_at + held_for.total_seconds())
        chain.wanted_by = answer.wanted_by or chain.wanted_by
        partition = replace(chain.partition, ownership_timeout=chain.expires_at)
        return replace(lease, partition=partition, expires_at=chain.expires_at)

    def _read(self, source: str, key: str) -> Partition:
        found = self._settler.read(source, key)
        if found is None:
            raise PartitionNotFoundError(key, source)
        return found


def _saved(chain: Chain, write: Save) -> None:
    """Note in the chain that a save was accepted."""
    chain.partition = replace(chain.partition, progress_text=write.progress_text, staged=write.staged)
    chain.totals = write.accounting or chain.totals


def ending_of(write: End) -> Ending:
    """Return the ending that ``write`` makes, as far as its sender knows it."""
    return Ending(write.outcome, write.fence, None, write.op, write.prev, write.status, write.closed_count)
