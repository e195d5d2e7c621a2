"""How long what is lost counts as there, so that a restart copies nothing and gives nobody's work away.

Source: the seed's *Segment availability*. Druid documents it and does not have it (issues 5713, 17594).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from airflow_coordination.values.times import aware, positive


def counts(lost_since: datetime, grace: timedelta, now: datetime) -> bool:
    """Tell whether what was lost then still counts as there; with no grace it never does.

    :raises InvalidInputError: when a time has no zone, or the grace is negative.
    """
    aware("lost_since", lost_since)
    aware("now", now)
    positive("grace", grace, zero=True)
    return now - lost_since < grace
