"""The errors of the example."""

from __future__ import annotations

from airflow_coordination.values.input_errors import CoordinationError


class QuickstartError(CoordinationError):
    """The example does not run.

    :param problem: what is wrong.
    :param remedy: what to do.
    :param log: what tells more.
    """

    def __init__(self, problem: str, remedy: str, log: str = "") -> None:
        super().__init__(problem, remedy, log)
        self.problem, self.remedy, self.log = problem, remedy, log

    def __str__(self) -> str:
        return f"{self.problem}. {self.remedy}."
