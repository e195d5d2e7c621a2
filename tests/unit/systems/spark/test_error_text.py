"""What a partition keeps of an error, and how long it takes to find out (B1, A6)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from airflow_coordination.submission.finish import SubmissionEnd
from airflow_coordination.systems.spark.error_text import error_text, stack_text
from airflow_coordination.values.scrubbing import MAX_TEXT, without_secrets

MEGABYTE = 1_000_000
UNITS = {
    "a word": "a",
    "hex digits": "0123456789abcdef",
    "secret names": "password",
    "short secret names": "token",
    "starts of URLs": "://",
    "users without an end": "://a:",
    "ends without users": "@",
    "URLs": "://a:b@",
    "names and blanks": "token" + " " * 50,
    "blanks": " ",
    "lines": "\n",
    "names without values": "password=",
    "quotes without an end": "password='",
    "quotes of both kinds": "token=\"'",
    "escaped quotes": 'token:\\"',
    "causes": "\nCaused by: x",
    "traces": "Traceback (most recent call last):\n",
    "frames": "\n\tat x",
}
PATHS: dict[str, Callable[[str], str]] = {
    "the partition's error": lambda text: error_text(RuntimeError(text)),
    "the driver's log": lambda text: stack_text(RuntimeError(text)),
    "a reason for giving up": without_secrets,
    "the task's reason": lambda text: SubmissionEnd(began=True, stopped=False, error=RuntimeError(text)).reason,
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("unit", UNITS)
def test_b1_a_megabyte_of_anything_takes_no_time(unit: str, path: str) -> None:
    """B1: 20,000 hex digits took more than 40 s, in which the lease expired. The bound is generous: it was hours."""
    text = (UNITS[unit] * MEGABYTE)[:MEGABYTE]
    assert len(text) == MEGABYTE
    started = time.thread_time()
    PATHS[path](text)
    took = time.thread_time() - started
    print(f"{path}, {unit}: {took * 1000:.1f} ms")
    assert took < 0.5


@pytest.mark.parametrize("unit", UNITS)
def test_b1_twice_as_much_takes_twice_as_long(unit: str) -> None:
    """B1: the patterns alone, as far as a text is looked at: below it nothing is cut."""
    text = (UNITS[unit] * MAX_TEXT)[:MAX_TEXT]
    started = time.thread_time()
    assert len(without_secrets(text)) <= MAX_TEXT * 2
    assert time.thread_time() - started < 0.2


def test_b1_what_stands_beside_a_cut_is_no_half_secret() -> None:
    """B1: cutting first must not show what the patterns would have hidden whole."""
    half = MAX_TEXT // 2
    secret = "s3cr3t" * 50
    for shift in range(0, 300, 7):
        text = "x " * (half // 2 - 80) + "y" * shift + f" password={secret} " + "z " * MAX_TEXT
        text += "z" * shift + f" token={secret} " + "w " * (half // 2 - 80)
        told = without_secrets(text)
        assert "s3cr3t" not in told
        assert "characters left out" in told


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://me:p@ss@host/db", "postgresql://me:***@host/db"),
        ("a://u:p@h,b://u:q@h", "a://u:***@h,b://u:***@h"),
        ("mail me@here or https://h/x?password=p&n=1", "mail me@here or https://h/x?password=***&n=1"),
        ("?sslpassword=a%20b", "?sslpassword=***"),
        ('{\\"token\\": \\"a b\\"}', '{\\"token\\": ***}'),
        ("a:password=x", "a:password=***"),
        ("token = 'a b' c", "token = *** c"),
        ("see http://host:8080/x", "see http://host:8080/x"),
        ("tokens: none", "tokens: ***"),
        ("no secret here", "no secret here"),
    ],
)
def test_x4_what_looks_like_a_credential_is_hidden(text: str, expected: str) -> None:
    assert without_secrets(text) == expected


JVM = """An error occurred while calling o93.count.
: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///a.json.
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.x(Q.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:840)
Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD] Malformed records are detected: [null].
\tat org.apache.spark.sql.y(Z.scala:2)
\t... 22 more
Caused by: java.lang.NumberFormatException: For input string: "not-a-number"
\tat java.base/java.lang.Long.parseLong(Long.java:1)
\t... 30 more
"""
WORKER = """Job aborted due to stage failure: Task 0 in stage 1.0 failed: org.apache.spark.api.python.PythonException: \
Traceback (most recent call last):
  File "worker.py", line 2, in main
    process()
ValueError: bad row 7

\tat org.apache.spark.api.python.BasePythonRunner.x(R.scala:1)

Driver stacktrace:
\tat org.apache.spark.y(Z.scala:2)"""


class Unreadable(Exception):
    def __str__(self) -> str:
        raise ConnectionError("the JVM is gone")


class Captured(Exception):
    _stackTrace = JVM  # noqa: N815


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (RuntimeError(JVM), 'java.lang.NumberFormatException: For input string: "not-a-number"'),
        (RuntimeError(WORKER), "ValueError: bad row 7"),
        (Captured("[FAILED_READ_FILE]"), 'java.lang.NumberFormatException: For input string: "not-a-number"'),
        (RuntimeError("x" * 5_000 + JVM), 'java.lang.NumberFormatException: For input string: "not-a-number"'),
    ],
)
def test_a6_the_innermost_cause_comes_first(error: Exception, first: str) -> None:
    """A6: the partition kept `Py4JJavaError … FAILED_READ_FILE` and lost what was malformed."""
    text = error_text(error)
    assert text.splitlines()[0] == first
    assert text.splitlines()[1].startswith(f"… in {type(error).__name__}: ")
    assert len(text) <= 2_000
    assert "\tat " not in text


def test_an_error_whose_text_cannot_be_had_is_an_error_all_the_same() -> None:
    assert error_text(Unreadable()) == "Unreadable: (its message cannot be had: ConnectionError)"
    assert "Unreadable" in stack_text(Unreadable())


def test_a6_an_error_that_answers_to_every_name_is_told_too():
    """A6: the tenure must end with it, whatever looking for a stack does."""

    class Proxy(Exception):
        def __getattr__(self, name):
            return {}[name]

    assert error_text(Proxy("boom")) == "Proxy: boom"
