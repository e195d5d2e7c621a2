"""What the docs take from the code is what the code says now."""

from __future__ import annotations

import inspect
import re
from datetime import timedelta
from importlib import import_module

import airflow_coordination.outputs
import airflow_coordination.sinks
import airflow_coordination.sources
import airflow_coordination.spark
from airflow_coordination.delivery.acknowledgment_set import NegativeAcknowledgmentError
from airflow_coordination.follow_ups import FollowUpError
from airflow_coordination.leases import CoordinationError, Metric
from airflow_coordination.planning.shards.lineage import InconsistentListingError
from scripts.docs_build import python
from scripts.docs_generate import MARKED, ROOT, WRITERS, fresh
from scripts.docs_limits import INNER, LIMITS, TIMERS
from tests.docs.pages import PAGES
from tests.house.tree import PACKAGE, module_name

ROOMS_WITHOUT_TIMERS = {"board", "cli", "examples", "monitoring", "testing"}
"""What people look at, and what they copy: how often a page looks again is said where it is described."""


def test_every_writer_is_used_and_every_marker_is_closed():
    """A part that no page shows, or that is never ended, would go stale unseen."""
    texts = [page.read_text() for page in PAGES]
    used = {match["name"] for text in texts for match in MARKED.finditer(text)}
    assert used == WRITERS.keys()
    assert sum(text.count("<!-- from the code: ") for text in texts) == sum(len(MARKED.findall(text)) for text in texts)


def test_a_changed_page_is_seen():
    """The check can fail."""
    text = (ROOT / "docs/explanation/protocol.md").read_text()
    changed = text.replace("ASSIGNED --> COMPLETED", "ASSIGNED --> CLOSED")
    assert changed != text
    assert fresh(changed) == text


def _errors(base=CoordinationError):
    for error in base.__subclasses__():
        yield error
        yield from _errors(error)


def test_every_error_has_its_place():
    """What it means and what to do; the base of bad input is explained by its own section."""
    assert airflow_coordination.outputs.OutputError  # imported, so that it is known whatever else this process has run
    assert airflow_coordination.sinks.SinkNotReadyError
    assert airflow_coordination.sources.SourceError
    assert NegativeAcknowledgmentError
    assert FollowUpError
    assert airflow_coordination.spark.KafkaRangeError
    assert InconsistentListingError
    page = (ROOT / "docs/reference/errors.md").read_text()
    ours = {error.__name__ for error in _errors() if error.__module__.startswith("airflow_coordination.")}
    missing = {name for name in ours if f"\n## {name}\n" not in page}
    assert missing == set()
    named = {line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")}
    assert {name for name in named if name.endswith("Error")} - ours <= {
        "DrainCutShortError",
        "PartitionFailedError",
        "QuickstartError",
        "SupervisorGoneError",
        "SupplierBusyError",
    }


def test_every_metric_is_explained():
    """Each name of the seed, in a sentence of its own."""
    page = (ROOT / "docs/reference/metrics.md").read_text()
    told = {
        name
        for names in re.findall(r"^\* ((?:`\w+`,?\s+)*`\w+`): ", page, re.MULTILINE)
        for name in re.findall(r"\w+", names)
    }
    assert [metric for metric in Metric if metric not in told] == []


def test_every_public_name_of_the_top_is_documented():
    """A name that no page mentions is a name that nobody finds."""
    text = "".join([*(page.read_text() for page in PAGES), python()])
    assert [name for name in airflow_coordination.__all__ if name not in text] == []
    assert inspect.getdoc(airflow_coordination)


def _times():
    """Yield every public time of the code: durations, and seconds with a fraction."""
    for path in sorted(PACKAGE.rglob("*.py")):
        where = path.relative_to(PACKAGE).parts
        if where[0] in ROOMS_WITHOUT_TIMERS and "waiting" not in where:  # sensors wait by these
            continue
        for name in re.findall(r"^([A-Z][A-Z_]+)(?:: [\w\[\]]+)? = ", path.read_text(), re.MULTILINE):
            value = getattr(import_module(module_name(path)), name)
            if isinstance(value, timedelta | float):
                yield module_name(path).removeprefix(f"{PACKAGE.name}."), name


def test_z8_every_time_of_the_code_is_on_the_page_of_timers():
    """Z8: it said "all of them", and ten were missing."""
    shown = {(each.module, each.name) for each in (*TIMERS, *LIMITS)}
    times = set(_times())
    assert times - shown - INNER == set()
    assert times >= INNER
    assert INNER & shown == set()
