"""The kit for sinks, with the fixtures ``sink`` and ``stored`` of the test's own file."""

from __future__ import annotations

import pytest

from airflow_coordination.systems.sink import AnswerKind
from airflow_coordination.testing.sinks import SinkConformance


class OwnFixtures(SinkConformance):
    @pytest.fixture
    def sink(self, sink):
        return sink

    @pytest.fixture
    def stored(self, stored):
        return stored


def kinds(answers) -> list[AnswerKind]:
    return [answer.kind for answer in answers]
