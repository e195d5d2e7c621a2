"""The errors of what follows endings."""

from __future__ import annotations

from airflow_coordination.values.input_errors import CoordinationError


class FollowUpError(CoordinationError):
    """Something at the source could not be done; its note stays, and it is tried again.

    :param what: what was to be done, with the place.
    :param problem: the problem with it.
    :param remedy: the way out.
    """

    def __init__(self, what: str, problem: str, remedy: str) -> None:
        super().__init__(what, problem, remedy)
        self.what, self.problem, self.remedy = what, problem, remedy

    def __str__(self) -> str:
        return f"Cannot {self.what}: {self.problem}. {self.remedy}"


class FollowUpNotAllowedError(FollowUpError):
    """A note says something that nobody has allowed who found it; it stays, and waits for a person.

    A note is in the store, and whoever may write there may have written it.
    """
