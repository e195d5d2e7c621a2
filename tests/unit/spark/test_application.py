"""What a driver says before it has a session, and how it tells its task."""

from __future__ import annotations

import io
import json

import pytest

from airflow_coordination.leases.handover import HANDOVER_VARIABLE, REPORT_MARKER, STORE_VARIABLE
from airflow_coordination.spark import Complete, partition_application
from airflow_coordination.spark.application import _calls, run_handed_over
from airflow_coordination.spark.reports import LineReport
from airflow_coordination.systems.spark.error_text import error_text


@partition_application
def main(spark, lease):
    """Say hello."""
    return Complete()


def test_a_decorated_function_can_be_called_directly() -> None:
    assert main(None, object()) == Complete()
    assert (main.__name__, main.__doc__) == ("main", "Say hello.")


def test_without_a_hand_over_it_says_how_to_run(monkeypatch, capsys) -> None:
    monkeypatch.delenv(HANDOVER_VARIABLE, raising=False)
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 1
    assert capsys.readouterr().err == (
        "SettingsError: COORDINATION_HANDOVER=None: is not set in this driver's environment. "
        "Submit this file with LeasedSparkSubmitOperator, or run its function with drain(…)\n"
    )


def test_a_hand_over_that_is_none_is_refused(monkeypatch) -> None:
    told = []
    monkeypatch.setenv(HANDOVER_VARIABLE, "{}")
    monkeypatch.setenv(STORE_VARIABLE, "memory://")
    assert run_handed_over(main.function, lambda event, **facts: told.append((event, facts["message"]))) == 1
    assert [event for event, _ in told] == ["refused"]
    assert "is no hand-over" in told[0][1]


def test_s17_in_memory_is_refused_in_a_driver(monkeypatch, capsys) -> None:
    from datetime import timedelta

    from airflow_coordination.leases import Fence, HandOver, Settings

    handover = HandOver(
        source="s",
        partition_prefix=None,
        key="k",
        fence=Fence(1, "n"),
        owner="o",
        settings=Settings(ownership_timeout=timedelta(minutes=1)),
        store_id="x",
    )
    monkeypatch.setenv(HANDOVER_VARIABLE, handover.to_json())
    monkeypatch.setenv(STORE_VARIABLE, "memory://")
    assert run_handed_over(main.function, lambda event, **facts: None) == 1
    assert "this Spark driver was started by an Airflow task" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [("main()\n", True), ("if __name__ == '__main__':\n    main()\n", True), ("other(main)\n", False), ("", False)],
)
def test_a_file_that_calls_its_function_is_recognised(tmp_path, text: str, expected: bool) -> None:
    file = tmp_path / "job.py"
    file.write_text(text)
    assert _calls(str(file), "main") is expected


@pytest.mark.parametrize(
    "content",
    [b"\xef\xbb\xbfmain()  # \xc3\xbc\n", b"# -*- coding: latin-1 -*-\nmain()  # \xfc\n", b"main()  # \xc3\xbc\n"],
    ids=["byte order mark", "latin-1", "utf-8"],
)
def test_e9_a_file_is_read_as_python_reads_it(tmp_path, content: bytes) -> None:
    """E9: a byte order mark was a syntax error, a coding line passed over."""
    file = tmp_path / "job.py"
    file.write_bytes(content)
    assert _calls(str(file), "main")


def test_reports_are_whole_marked_lines() -> None:
    stream = io.StringIO()
    LineReport(stream)("saved", key="a\nb", progress={"n": 1})
    assert stream.getvalue().count("\n") == 1
    line = stream.getvalue().removeprefix(REPORT_MARKER)
    assert json.loads(line) == {"event": "saved", "key": "a\nb", "progress": {"n": 1}}


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x" * 5_000), f"ValueError: {'x' * 1_988}"),
        (RuntimeError("job aborted\n\tat org.apache.spark…\n\tat java…"), "RuntimeError: job aborted"),
        (RuntimeError("fs.s3a.secret.key=abc"), "RuntimeError: fs.s3a.secret.key=***"),
        (RuntimeError("{'password': 'x y', 'n': 1}"), "RuntimeError: {'password': ***, 'n': 1}"),
        (RuntimeError("fs.azure.account.key.me=abc; n=1"), "RuntimeError: fs.azure.account.key.me=***; n=1"),
        (RuntimeError("postgresql://me:pw@host/db"), "RuntimeError: postgresql://me:***@host/db"),
        (KeyError(), "KeyError"),
    ],
)
def test_x4_error_texts_are_short_and_without_secrets(error: Exception, text: str) -> None:
    assert error_text(error) == text
