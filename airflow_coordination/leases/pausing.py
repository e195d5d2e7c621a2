"""Pausing and resuming a whole source: new leases are held back, owners finish (promise X12)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from airflow_coordination.leases.participant import Participant
from airflow_coordination.leases.people import MAX_WHY_CHARACTERS, check_said
from airflow_coordination.protocol.pause import OF_THE_SOURCE, Pause
from airflow_coordination.protocol.port import holds_back, pause_of
from airflow_coordination.protocol.remedies import WHY, quoted, typed
from airflow_coordination.protocol.writes import SetPause
from airflow_coordination.values.errors import OutcomeUnknownError, PartitionUpdateError
from airflow_coordination.values.failing import BRAKE, Failing
from airflow_coordination.values.input_errors import CoordinationError, SettingsError, shown
from airflow_coordination.values.names import storable

log = logging.getLogger(__name__)


class Pausing(Participant):
    """The part of :class:`SourceCoordinator` that holds a source back, and lets it go on."""

    def current_pause(self) -> Pause:
        """Return whether new leases of this source are held back, who has said so last, when and why."""
        return self._settler.repeat("look for a pause", lambda: pause_of(self.store, self._source_id))

    def pause(self, by: str, why: str, seen: Pause | None = None) -> Pause:
        """Hold new leases back until somebody resumes the source.

        Who holds a lease goes on, renews it and ends it; so do later tries of the same task. Sweeps go on, partitions
        are created, people act. Nothing is acquired by a request that is sent after this has returned: on DynamoDB,
        where each process asks every 30 s, by one that is sent 30 s after it. A request that was under way may still
        acquire one.

        :param by: who asks, kept in the audit.
        :param why: the reason, kept in the audit.
        :param seen: the pause as the person saw it; it is refused if somebody has paused or resumed since.
        :return: the pause that is in force then.
        :raises PartitionUpdateError: when the source is paused already, or somebody was faster.
        :raises SettingsError: when the store comes from elsewhere and knows of no pauses.
        """
        return self._set_pause(True, by, why, seen)

    def resume(self, by: str, why: str, seen: Pause | None = None) -> Pause:
        """Let a paused source go on; see :meth:`pause`."""
        return self._set_pause(False, by, why, seen)

    def pauses(self) -> Sequence[dict[str, Any]]:
        """Return who has paused and resumed this source, oldest first, each as ``at``, ``action``, ``by``, ``why``."""
        read = lambda: self.store.audit(self._source_id, OF_THE_SOURCE)  # noqa: E731
        return [
            {name: value for name, value in each.items() if name != "key"}
            for each in self._settler.repeat("read the audit", read)
        ]

    def _holds_back(self) -> bool:
        """Return whether nothing was acquired because the source is paused; where that is not known, it is not."""
        try:
            return holds_back(self.store, self._source_id)
        except CoordinationError:
            return False

    def _brake(self) -> None:
        """Pause the source, after a failure, when too many of one error have come one after the other.

        Best effort: the failure has ended, and where the store does not answer the next one looks again. Whoever has
        paused or resumed the source since is not contradicted.
        """
        limit = self.settings.brake_after
        if not limit or not hasattr(self.store, "set_pause"):
            return
        try:
            seen = self.current_pause()
            if not seen.paused and seen.failing is not None and seen.failing.number >= limit:
                why = self._reason(seen.failing)
                self._set_pause(True, BRAKE, why, seen)
                log.warning("Source %s pauses itself: %s", shown(self.source), why)
        except PartitionUpdateError as error:
            log.info("Source %s is not paused once more: %s", shown(self.source), error)
        except CoordinationError as error:
            log.warning("Whether source %s must be paused is not known: %s", shown(self.source), error)

    def _reason(self, failing: Failing) -> str:
        resume = typed(self, "resume").replace(quoted(WHY), "mended")
        some = f"{failing.number} partitions failed of one error, one after the other"
        return f"{some}: {failing.error.rstrip('.')}. Mend its cause, then: {resume}"

    def check_pause(self, paused: bool, seen: Pause) -> None:
        """Say whether a source can be paused (or resumed) as it was seen, and change nothing.

        :raises PartitionUpdateError: when it is so already; the same that doing it would raise.
        """
        if seen.paused is paused:
            raise self._refused(paused, "", seen)

    def _set_pause(self, paused: bool, by: str, why: str, seen: Pause | None) -> Pause:
        check_said(by, why)
        if not hasattr(self.store, "set_pause"):
            remedy = "Pause the DAGs that work on it, or park its partitions"
            raise SettingsError("store", self.store.description, "comes from elsewhere and knows of no pauses", remedy)
        seen = self.current_pause() if seen is None else seen
        self.check_pause(paused, seen)
        write = SetPause(
            source=self._source_id,
            op=self._randomness.op_id(),
            paused=paused,
            seen=seen.op,
            by=storable(by)[:MAX_WHY_CHARACTERS],
            why=storable(why)[:MAX_WHY_CHARACTERS],
        )
        action = f"{_verb(paused)} source {shown(self.source)}"
        attempts = self._settler.attempts(action)
        answer = attempts.hear(lambda: self.store.set_pause(write))
        now = answer.pause
        if answer.applied or now.op == write.op:
            return now
        if attempts.doubtful:
            raise OutcomeUnknownError(action, "others have paused or resumed it since")
        raise self._refused(paused, "meanwhile ", now)

    def _refused(self, paused: bool, when: str, now: Pause) -> PartitionUpdateError:
        return PartitionUpdateError(f"{_verb(paused)} source {shown(self.source)}", "", f"it was {when}{now}.")


def _verb(paused: bool) -> str:
    return "pause" if paused else "resume"
