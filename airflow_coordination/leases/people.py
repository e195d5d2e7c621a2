"""People's actions on partitions and on a whole source: conditioned on what they saw, audited in the same step."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.viewing.documents import SourceDocuments
from airflow_coordination.planning.view.changing import check_not_hidden
from airflow_coordination.protocol.beside.parts import FollowUps, HeadIntervals, Pauses
from airflow_coordination.protocol.metrics import Metric
from airflow_coordination.protocol.partition import Partition
from airflow_coordination.protocol.pause import NEVER_PAUSED, OF_THE_SOURCE, Pause
from airflow_coordination.protocol.remedies import WHY, about, quoted, shell_of, typed
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.protocol.transitions import TRANSITIONS, Event
from airflow_coordination.protocol.writes import Act, Action, SetInterval, SetPause
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionNotFoundError, PartitionUpdateError
from airflow_coordination.values.failing import BRAKE, Failing
from airflow_coordination.values.input_errors import CoordinationError, SettingsError, shown
from airflow_coordination.values.names import MERGED, check_key, check_said, storable
from airflow_coordination.values.status import PartitionStatus
from airflow_coordination.values.times import Span, positive

MAX_WHY_CHARACTERS = 1_000
MAX_NAMED = 10
"""The most children named where all of them are meant."""
_PAGE = 1_000
_BEGINS_ANEW = frozenset({Action.RESET, Action.DELETE})
"""After these the same input is worked on again; what is deleted, as soon as a supplier names it again."""
_TAKES_BACK: Final = frozenset({Action.RETRACT, Action.DELETE, Action.CLEAN_UP})
_REMOVES: Final = frozenset({Action.DELETE, Action.CLEAN_UP})
_COUNTED: Final = {Action.REOPEN: Metric.REOPENED, Action.PARK: Metric.PARKED}


@dataclass(eq=False, repr=False)
class People:
    """What people do to a source's partitions: :class:`SourceCoordinator` ``.people``.

    ``seen`` is the partition as the person saw it.

    :param core: whose source.
    :param notes: of what follows endings, where the store keeps them.
    :param intervals: where the store lets people say of which time rows are.
    :param documents: what hides intervals.
    """

    _core: Participant
    _notes: FollowUps | None
    _intervals: HeadIntervals | None
    _documents: SourceDocuments

    def release(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Take the lease away from its owner; the partition waits again at its old place.

        :param by: who asks, kept in the audit.
        :param why: the reason, kept in the audit.
        :param seen: the partition as the person saw it; the action is refused if it changed since.
        :raises PartitionUpdateError: when its status does not allow it, or it changed meanwhile.
        """
        return self.act(Action.RELEASE, key, by, why, seen)

    def reopen(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Make a CLOSED, parked or delayed partition claimable now; failures and lost leases start from zero."""
        return self.act(Action.REOPEN, key, by, why, seen)

    def park(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Set a partition aside until a person reopens it; its owner, if any, loses the lease."""
        return self.act(Action.PARK, key, by, why, seen)

    def reset(
        self,
        key: str,
        by: str,
        why: str,
        seen: Partition | None = None,
        *,
        branch: int | None = None,
        out_of_branch: bool = False,
    ) -> Partition:
        """Start a partition afresh: no progress, no counts. Published output stays until it is replaced.

        :param branch: the branch that it runs in from now on, which has begun; ``None`` = in none.
        :param out_of_branch: although it was retired in a branch, in this one or another, so that others stand for its
            rows.
        :raises PartitionUpdateError: also while something is still to follow its endings (``then=``).
        :raises BranchError: while a branch that it runs in has begun, or because it was retired in one.
        :raises InvalidInputError: when ``branch`` is not begun.
        """
        return self.act(Action.RESET, key, by, why, seen, branch=branch, out_of_branch=out_of_branch)

    def finish(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Complete a partition without its work: nothing more is published, and whoever waits for it need not any more.

        For a parked parent whose children should go on without it. Its owner, if any, loses the lease, and what is
        saved and not published yet is dropped.
        """
        return self.act(Action.FINISH, key, by, why, seen)

    def retract(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Take back what a partition has published, in every dataset: readers that begin after it do not see it.

        The partition stays as it is; only a :meth:`reset` makes it produce its output again. What it publishes
        afterwards counts as ever.

        :raises PartitionUpdateError: also while somebody holds it, or saved blocks wait to be published.
        """
        return self.act(Action.RETRACT, key, by, why, seen)

    def delete(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Delete a partition, leaving a tombstone so that no fence is ever given twice. Published output stays.

        :raises PartitionUpdateError: also while something is still to follow its endings (``then=``).
        :raises BranchError: when it was retired in a branch, which was not rolled back.
        """
        return self.act(Action.DELETE, key, by, why, seen)

    def give_up_group(self, key: str, by: str, why: str, seen: Partition | None = None) -> Partition:
        """Take back what a group of compaction has merged, and delete it: people do so by ``compaction off``.

        Whoever calls it has seen that the originals are there.

        :raises PartitionUpdateError: also while somebody holds it.
        """
        retracted = self._act(Action.RETRACT, key, by, why, seen)
        return self._act(Action.DELETE, key, by, why, retracted)

    def purge(self, seen: Partition, datasets: Iterable[str], by: str, why: str) -> Partition:
        """Empty some head records of a partition, as a retract does all of them.

        Whoever calls it knows that nobody will ever see them.

        :param seen: the partition as it was read *before* what was seen of its head records, and of what hides them.
        :param datasets: the names that they are stored under.
        :raises PartitionUpdateError: when somebody holds it, saved blocks wait to be published, or it has changed.
        """
        self._check_not_merged(Action.RETRACT, seen.key)
        return self._act(Action.RETRACT, seen.key, by, why, seen, datasets=tuple(sorted(datasets)))

    def act(
        self,
        action: Action,
        key: str,
        by: str,
        why: str,
        seen: Partition | None = None,
        *,
        branch: int | None = None,
        out_of_branch: bool = False,
        batch: str | None = None,
    ) -> Partition:
        """Do ``action`` to the partition as it was seen, and return it as it is afterwards.

        :param by: who asks for it, for the audit; ``why`` is the reason.
        :param seen: the partition as the person saw it; read now when ``None``.
        :param branch: of a :meth:`reset`; so is ``out_of_branch``.
        :param batch: the same for all partitions to which somebody does this at once: one line of the audit.
        :raises PartitionNotFoundError: when there is no such partition.
        :raises PartitionUpdateError: when its status does not allow the action, or it changed meanwhile.
        """
        self._check_not_merged(action, key)
        return self._act(action, key, by, why, seen, branch, out_of_branch=out_of_branch, batch=batch)

    def _act(
        self,
        action: Action,
        key: str,
        by: str,
        why: str,
        seen: Partition | None,
        branch: int | None = None,
        *,
        out_of_branch: bool = False,
        datasets: tuple[str, ...] | None = None,
        batch: str | None = None,
    ) -> Partition:
        check_key(key)
        check_said(by, why)
        seen = seen or self._read(key)
        self._check_fits(action, seen, branch, out_of_branch=out_of_branch)
        if action is Action.DELETE and seen.awaited_op is not None:
            self._check_nobody_waits(seen)
        op = self._core.randomness.op_id()
        write = Act(
            source=self._core.source_id,
            key=key,
            op=op,
            action=action,
            seen=seen,
            by=storable(by)[:MAX_WHY_CHARACTERS],
            why=storable(why)[:MAX_WHY_CHARACTERS],
            branch=branch,
            datasets=datasets,
            batch=None if batch is None else storable(batch)[:MAX_WHY_CHARACTERS],
        )
        attempts = self._core.settler.attempts(f"{action} {key!r}")
        answer = attempts.hear(lambda: self._core.store.act(write))
        now = answer.partition
        if now is not None and (answer.applied or _applied(write, now)):
            if action in _COUNTED:
                self._core.count(_COUNTED[action])
            return now
        if attempts.doubtful:
            raise OutcomeUnknownError(f"{action} {key!r}", "others have changed the partition since")
        if now is None:
            raise PartitionNotFoundError(key, self._core.source_id)
        raise moved_on(action, now)

    def set_interval(self, seen: HeadRecord, interval: Span, by: str, why: str) -> bool:
        """Say of which time the rows of a head record are; nothing that is read changes. Repeated, it changes nothing.

        :param seen: the head record as the person saw it.
        :param interval: from when on, and up to when, itself excluded.
        :param by: who says it, kept in the audit.
        :param why: the reason, kept in the audit.
        :return: ``False`` when something was published since, or somebody else has said it.
        :raises InvalidInputError: when nobody, or no reason, is named; when the head record lies in an interval that is
            hidden or being purged, or would lie in one.
        :raises SettingsError: when the store comes from elsewhere and keeps no intervals.
        """
        check_said(by, why)
        if self._intervals is None:
            problem, remedy = "comes from elsewhere and keeps no intervals", "Use another store"
            raise SettingsError("store", self._core.store.description, problem, remedy)
        check_not_hidden(self._documents.view(), seen, interval.start, interval.end)
        write = SetInterval(
            source=seen.source,
            dataset=seen.dataset,
            key=seen.key,
            seen_op=seen.op,
            seen_start=seen.interval_start,
            seen_end=seen.interval_end,
            start=interval.start,
            end=interval.end,
            op=self._core.randomness.op_id(),
            by=storable(by)[:MAX_WHY_CHARACTERS],
            why=storable(why)[:MAX_WHY_CHARACTERS],
        )
        settler = self._core.settler
        if settler.repeat("set an interval", partial(self._intervals.set_interval, write)):
            return True
        read = partial(self._core.store.heads, seen.source, seen.dataset, seen.key)
        said = seen.op, interval.start, interval.end
        now = settler.repeat("read the head records", read)
        return any((head.op, head.interval_start, head.interval_end) == said for head in now)

    def check_action(
        self, action: Action, seen: Partition, *, branch: int | None = None, out_of_branch: bool = False
    ) -> None:
        """Say whether ``action`` fits the partition as it was seen, and change nothing.

        :param branch: of a :meth:`reset`; so is ``out_of_branch``.
        :raises PartitionUpdateError: naming the statuses that it fits, or what is in its way; the same that the action
            itself would raise.
        """
        self._check_not_merged(action, seen.key)
        self._check_fits(action, seen, branch, out_of_branch=out_of_branch)

    def check_kept(self, action: Action) -> None:
        """Refuse what would take back or forget what groups have merged: where originals are gone, rows with it.

        :raises PartitionUpdateError: naming what to do instead.
        """
        self._check_not_merged(action, "")

    def _check_not_merged(self, action: Action, key: str) -> None:
        if action in _TAKES_BACK and self._core.source.startswith(MERGED):
            problem = "readers may find the rows of partitions nowhere else than in what it has merged"
            off = f"compaction off {quoted(self._core.source.removeprefix(MERGED))}"
            remedy = f"Use `{off}`, which looks whether the originals are there, or reset, which lets it merge again"
            raise PartitionUpdateError(action, key, f"{problem}. {remedy}.")

    def _check_fits(
        self, action: Action, seen: Partition, branch: int | None = None, *, out_of_branch: bool = False
    ) -> None:
        fits = TRANSITIONS[Event[action.name]]
        if seen.status not in fits:
            named = " or ".join(sorted(status for status in fits if status))
            problem = f"it is {_state(seen)}; {action} needs {named}.{_remedy(action, seen)}"
            raise PartitionUpdateError(action, seen.key, problem)
        if action is Action.RETRACT and seen.staged:
            problem = f"{len(seen.staged)} block(s) are saved with its progress and not published yet"
            remedy = "Let the next pass end, or use reset first, which drops them"
            raise PartitionUpdateError(action, seen.key, f"{problem}. {remedy}.")
        if action is Action.RESET:
            self._core.branches.check_reset(seen, branch, out_of_branch=out_of_branch)
        if action in _REMOVES:
            self._core.branches.check_removal(action, seen)
        if action in _BEGINS_ANEW:
            self._check_followed_up(action, seen)

    def _check_followed_up(self, action: Action, seen: Partition) -> None:
        """Refuse to have done again what a note still has in hand: it would delete the input before that.

        :raises PartitionUpdateError: naming the notes, and both ways out.
        """
        if self._notes is None:
            return
        read = partial(self._notes.follow_ups, self._core.source_id, seen.key, None, MAX_NAMED + 1)
        left = self._core.settler.repeat("read the follow-ups", read)
        if not left:
            return
        named = ", ".join(shown(note.text) for note in left[:MAX_NAMED]) + (", …" if len(left) > MAX_NAMED else "")
        number = f"{len(left[:MAX_NAMED])}{' or more' if len(left) > MAX_NAMED else ''}"
        which = f"{number} note(s) of what follows its endings (then=) or its parking (on_parked)"
        problem = f"{which} are not done yet, and would be done to what is"
        remedy = f"Do them first: {about(shell_of(self._core.store), 'finish-actions', self._core.source_id, seen.key)}"
        forget = "or add --forget --why … to it, and they are taken away undone"
        raise PartitionUpdateError(action, seen.key, f"{problem} to be worked on again: {named}. {remedy}; {forget}.")

    def _check_nobody_waits(self, seen: Partition) -> None:
        """Refuse to delete what others wait for: they would wait for ever. Whoever comes later is the store's to see.

        :raises PartitionUpdateError: naming some of them.
        """
        waiting = [child.key for child in self.children(seen.key) if seen.key in child.waits_for]
        if waiting:
            named = ", ".join(map(shown, waiting[:MAX_NAMED])) + (", …" if len(waiting) > MAX_NAMED else "")
            problem = f"{len(waiting)} partition(s) wait for it: {named}"
            remedy = "Use finish, which lets them start as if it had completed, or delete them first"
            raise PartitionUpdateError(Action.DELETE, seen.key, f"{problem}. {remedy}.")

    def children(self, key: str) -> Iterator[Partition]:
        """Yield who names a partition as one of its parents, by key."""
        after, read = None, partial(self._core.store.children, self._core.source_id, key)
        while page := self._core.settler.repeat("look for children", partial(read, after, _PAGE)):
            yield from page
            after = page[-1].key

    def _read(self, key: str) -> Partition:
        found = self._core.settler.read(self._core.source_id, key)
        if found is None or found.deleted:
            raise PartitionNotFoundError(key, self._core.source_id)
        return found


def moved_on(action: Action, now: Partition) -> PartitionUpdateError:
    """Return the error that says what a partition is now, which is not what the person saw."""
    changed = f"it changed meanwhile and is {_state(now)} now. Look at it again and repeat the action if it still fits."
    return PartitionUpdateError(action, now.key, changed)


def _applied(write: Act, now: Partition) -> bool:
    """Return whether the partition shows that ``write`` was applied to it, although its answer was lost."""
    ending = now.ending_of(write.seen.fence) if write.seen.fence else None
    return write.op in (now.last_op, now.generation, now.nonce, ending.op if ending else None)


def _remedy(action: Action, seen: Partition) -> str:
    """Return what leads a partition to where the action fits, as a sentence."""
    if seen.status is PartitionStatus.COMPLETED:
        return " Use reset to process it again."
    if action is Action.RETRACT:
        return " Use release to take it from its owner, or wait for the lease to end."
    return ""


def _state(partition: Partition) -> str:
    if partition.deleted:
        return "cleaned up" if partition.cleaned_up else "deleted"
    return "CLOSED (parked)" if partition.parked else str(partition.status)


log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class Pausing:
    """Holds a whole source back, and lets it go on: :class:`SourceCoordinator` ``.pausing``.

    :param core: whose source.
    :param pauses: where the store can hold sources back.
    """

    _core: Participant
    _pauses: Pauses | None

    @property
    def holds_after(self) -> timedelta:
        """How long after a pause was set the last process knows of it."""
        return timedelta(0) if self._pauses is None else self._pauses.pause_holds_after

    def current_pause(self) -> Pause:
        """Return whether new leases of this source are held back, who has said so last, when and why."""
        if self._pauses is None:
            return NEVER_PAUSED
        return self._core.settler.repeat("look for a pause", partial(self._pauses.pause, self._core.source_id))

    def pause(self, by: str, why: str, seen: Pause | None = None, *, lasts: timedelta | None = None) -> Pause:
        """Hold new leases back until somebody resumes the source, or for a time.

        Who holds a lease goes on, renews it and ends it; so do later tries of the same task. Sweeps go on, partitions
        are created, people act. Nothing is acquired by a request that is sent after this has returned: on DynamoDB,
        where each process asks every 30 s, by one that is sent 30 s after it. A request that was under way may still
        acquire one.

        :param by: who asks, kept in the audit.
        :param why: the reason, kept in the audit.
        :param seen: the pause as the person saw it; it is refused if somebody has paused or resumed since.
        :param lasts: after so long it ends by itself, by the store's clock. To code of before schema 15 the source is
            paused until somebody resumes it.
        :return: the pause that is in force then.
        :raises InvalidInputError: for a time that is not above zero.
        :raises PartitionUpdateError: when the source is paused already, but for a time, or somebody was faster.
        :raises SettingsError: when the store comes from elsewhere and knows of no pauses.
        """
        positive("lasts", lasts)
        return self._set_pause(True, by, why, seen, lasts)

    def resume(self, by: str, why: str, seen: Pause | None = None) -> Pause:
        """Let a paused source go on, also where the pause has ended by itself: older code knows of no end."""
        return self._set_pause(False, by, why, seen)

    def pauses(self) -> Sequence[dict[str, Any]]:
        """Return who has paused and resumed this source, oldest first, each as ``at``, ``action``, ``by``, ``why``."""
        read = lambda: self._core.store.audit(self._core.source_id, OF_THE_SOURCE)  # noqa: E731
        return [
            {name: value for name, value in each.items() if name != "key"}
            for each in self._core.settler.repeat("read the audit", read)
        ]

    def holds_back(self) -> bool:
        """Return whether nothing was acquired because the source is paused; where that is not known, it is not."""
        try:
            return self._pauses is not None and self._pauses.holds_back(self._core.source_id)
        except CoordinationError:
            return False

    def brake(self) -> None:
        """Pause the source, after a failure, when too many of one error have come one after the other.

        Best effort: the failure has ended, and where the store does not answer the next one looks again. Whoever has
        paused or resumed the source since is not contradicted.
        """
        limit = self._core.settings.brake_after
        if not limit or self._pauses is None:
            return
        try:
            seen = self.current_pause()
            if not seen.paused and seen.failing is not None and seen.failing.number >= limit:
                why = self._reason(seen.failing)
                self._set_pause(True, BRAKE, why, seen)
                log.warning("Source %s pauses itself: %s", shown(self._core.source), why)
        except PartitionUpdateError as error:
            log.info("Source %s is not paused once more: %s", shown(self._core.source), error)
        except CoordinationError as error:
            log.warning("Whether source %s must be paused is not known: %s", shown(self._core.source), error)

    def _reason(self, failing: Failing) -> str:
        resume = typed(self._core, "resume").replace(quoted(WHY), "mended")
        some = f"{failing.number} partitions failed of one error, one after the other"
        return f"{some}: {failing.error.rstrip('.')}. Mend its cause, then: {resume}"

    def check_pause(self, paused: bool, seen: Pause) -> None:
        """Say whether a source can be paused (or resumed) as it was seen, and change nothing.

        :raises PartitionUpdateError: when it is so already (but a pause with an end); the same that doing it would.
        """
        if seen.unending if paused else not (seen.paused or seen.over):
            raise self._refused(paused, "", seen)

    def _set_pause(self, paused: bool, by: str, why: str, seen: Pause | None, lasts: timedelta | None = None) -> Pause:
        check_said(by, why)
        if self._pauses is None:
            remedy = "Pause the DAGs that work on it, or park its partitions"
            raise SettingsError(
                "store", self._core.store.description, "comes from elsewhere and knows of no pauses", remedy
            )
        seen = self.current_pause() if seen is None else seen
        self.check_pause(paused, seen)
        write = SetPause(
            source=self._core.source_id,
            op=self._core.randomness.op_id(),
            paused=paused,
            seen=seen.op,
            by=storable(by)[:MAX_WHY_CHARACTERS],
            why=storable(why)[:MAX_WHY_CHARACTERS],
            lasts=lasts,
        )
        action = f"{_verb(paused)} source {shown(self._core.source)}"
        attempts = self._core.settler.attempts(action)
        answer = attempts.hear(partial(self._pauses.set_pause, write))
        now = answer.pause
        if answer.applied or now.op == write.op:
            return now
        if attempts.doubtful:
            raise OutcomeUnknownError(action, "others have paused or resumed it since")
        raise self._refused(paused, "meanwhile ", now)

    def _refused(self, paused: bool, when: str, now: Pause) -> PartitionUpdateError:
        return PartitionUpdateError(f"{_verb(paused)} source {shown(self._core.source)}", "", f"it was {when}{now}.")


def _verb(paused: bool) -> str:
    return "pause" if paused else "resume"
