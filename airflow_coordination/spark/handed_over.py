"""The task's hand-over to this driver: the tenure, the store's address, and the word that marks the driver's reports.

On the task's own host the secret part is a file. It is read and removed when this module is loaded, which is with the
first import of ``airflow_coordination.spark``: before the partition function, and what it uses, can look.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final

from airflow_coordination.leases.handover import (
    ENVELOPE_VARIABLE,
    HANDOVER_VARIABLE,
    STORE_VARIABLE,
    Envelope,
    HandOver,
    from_word,
)
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.scrubbing import know

_AMAZONS: Final = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID")
_REMEDY: Final = "Submit this file with LeasedSparkSubmitOperator, or run its function with drain(…)"


def _read() -> Envelope | SettingsError | None:
    path = os.environ.pop(ENVELOPE_VARIABLE, None)
    try:
        return (Envelope.open(path) or _read_before(path)) if path else None
    except SettingsError as error:  # for whoever takes it: this process may be no driver at all
        return error


def _read_before(path: str) -> SettingsError:
    problem = "was read before, by another process of this submission"
    return SettingsError(ENVELOPE_VARIABLE, path, problem, "Let a submission start one driver, and load this file once")


_read_at_import = [_read()]
"""Empty once it was taken, so that nothing holds it longer than it is needed."""


@dataclass(frozen=True, slots=True)
class HandedOver:
    """The hand-over to this process.

    :param envelope: came by file; ``None`` for a driver on another host, whose environment holds the store.
    """

    envelope: Envelope | SettingsError | None = field(repr=False)

    @classmethod
    def take(cls) -> HandedOver:
        """Return the hand-over; the secret part of it only once."""
        know(os.environ.get(name) for name in _AMAZONS)
        at_import = _read_at_import.pop() if _read_at_import else None
        return cls(at_import or _read())

    @property
    def word(self) -> str | None:
        """The word that marks this driver's reports, ``None`` where no task reads them."""
        return self.envelope.word if isinstance(self.envelope, Envelope) else None

    def tenure(self) -> HandOver:
        """Return the tenure.

        :raises SettingsError: when nothing, or something else, was handed over.
        """
        return HandOver.from_json(from_word(_variable(HANDOVER_VARIABLE)))

    def store(self) -> str:
        """Return the store's address, as text for ``open_store``.

        :raises SettingsError: when nothing was handed over, or others could have read it.
        """
        if isinstance(self.envelope, SettingsError):
            raise self.envelope
        return self.envelope.store if self.envelope is not None else from_word(_variable(STORE_VARIABLE))


def _variable(name: str) -> str:
    text = os.environ.get(name)
    if not text:
        raise SettingsError(name, text, "is not set in this driver's environment", _REMEDY)
    return text
