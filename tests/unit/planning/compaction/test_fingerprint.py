"""One text for one configuration, and differences in words."""

from __future__ import annotations

from airflow_coordination.planning.compaction.fingerprint import differences, fingerprint


def test_order_and_nulls_are_of_no_matter():
    assert fingerprint({"b": 1, "a": ["x"], "c": None}) == fingerprint({"a": ["x"], "b": 1}) == '{"a":["x"],"b":1}'


def test_true_is_not_one():
    assert differences({"rollup": True}, {"rollup": 1}) == ["rollup: 1 → true"]


def test_only_what_the_configuration_says_is_compared():
    written = {"compression": "snappy", "sortBy": ["a"], "rollup": True}
    assert differences({"compression": "zstd", "rollup": True, "targetFileSize": 5, "codec": None}, written) == [
        "compression: snappy → zstd",
        "targetFileSize: nothing → 5",
    ]
    assert differences({}, written) == []
