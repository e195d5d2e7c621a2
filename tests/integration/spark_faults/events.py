"""What really happened in a Spark application, by its own event log."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


def logging_events(directory: Path) -> dict[str, str]:
    """Return what makes Spark write its event log, as plain text in one file."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": directory.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }


@dataclass(frozen=True)
class Events:
    """The events of one application, in their order."""

    events: list[dict[str, Any]]

    @classmethod
    def of(cls, directory: Path) -> Events:
        [file] = directory.iterdir()
        return cls([json.loads(line) for line in file.read_text().splitlines()])

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["Event"] == f"SparkListener{kind}"]

    def stages(self, partition: str) -> set[int]:
        """Return the stages that ran for a partition: its runner marks its jobs."""
        marked = f"partition {partition!r}"
        jobs = [job for job in self._of("JobStart") if job["Properties"].get("spark.job.description") == marked]
        return {stage for job in jobs for stage in job["Stage IDs"]}

    def failures(self, partition: str) -> list[str]:
        """Return why the tasks of a partition ended that did not succeed, by Spark's names of the reasons."""
        stages = self.stages(partition)
        reasons = [end["Task End Reason"]["Reason"] for end in self._of("TaskEnd") if end["Stage ID"] in stages]
        return [reason for reason in reasons if reason != "Success"]

    def speculative(self, partition: str) -> list[bool]:
        """Return for every speculative copy of a partition's tasks whether it succeeded."""
        stages = self.stages(partition)
        ends = [end for end in self._of("TaskEnd") if end["Stage ID"] in stages and end["Task Info"]["Speculative"]]
        return [end["Task End Reason"]["Reason"] == "Success" for end in ends]

    def repeated_stages(self, partition: str) -> set[int]:
        """Return the stages of a partition that were started more than once."""
        infos = [event["Stage Info"] for event in self._of("StageSubmitted")]
        return {info["Stage ID"] for info in infos if info["Stage Attempt ID"] > 0} & self.stages(partition)

    def lost_executors(self) -> list[str]:
        """Return the executors that were removed before the application ended, each once."""
        return [event["Executor ID"] for event in self._of("ExecutorRemoved")]
