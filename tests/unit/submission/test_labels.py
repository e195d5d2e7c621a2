"""Labels fit, and no label is worth the work (B2)."""

import logging
from types import SimpleNamespace

from airflow_coordination.submission.task_instance import LONGEST_LABEL, label_of, show_partition


def test_b2_a_label_fits_and_tells_keys_apart():
    """B2."""
    labels = {label_of("k" * length) for length in (LONGEST_LABEL, LONGEST_LABEL + 1, 2_048)}
    assert len(labels) == 3
    assert {len(label) for label in labels} == {LONGEST_LABEL}
    assert label_of("2013-01") == "2013-01"


def test_b2_a_task_without_a_label_goes_on(caplog):
    """B2: whatever Airflow makes of a label."""
    with caplog.at_level(logging.WARNING):
        show_partition({}, "a\nb")
    assert "Airflow could not be told of partition 'a\\nb'" in caplog.text
    context = {"ti": SimpleNamespace(map_index=3), "task": SimpleNamespace(dag=None)}
    show_partition(context, "k" * 300)
    assert len(context["partition"]) == LONGEST_LABEL
