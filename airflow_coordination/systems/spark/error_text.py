"""The text of an error, for its partition and the driver's log: short, the innermost cause first, no secrets."""

from __future__ import annotations

import traceback
from typing import Final

from airflow_coordination.values.input_errors import printable
from airflow_coordination.values.scrubbing import without_secrets

MAX_ERROR: Final = 2_000
"""Characters of an error that a partition keeps."""
_HALF: Final = 50_000
"""Characters at either end of an error that are looked through for its cause."""
_CAUSE: Final = "Caused by: "
_PYTHON: Final = "Traceback (most recent call last):"
_OF_JVM: Final = ("\n\tat ", "\n\t... ", "\nJVM stacktrace:", "\n\nDriver stacktrace:", f"\n{_CAUSE}")


def error_text(error: BaseException) -> str:
    """Return an error in at most 2,000 characters: the innermost cause, then its own type and message.

    Spark says on the outside that a file could not be read, and inside of it which number was malformed.
    """
    told = _text(error)
    message = _without_jvm(told)
    outer = f"{type(error).__name__}: {message}" if message else type(error).__name__
    cause = _innermost(told) or _innermost(_stack_of(error))
    both = outer if not cause or message.startswith(cause) else f"{without_secrets(cause)[:MAX_ERROR]}\n… in {outer}"
    return printable(without_secrets(both), MAX_ERROR, "\n\t")


def stack_text(error: BaseException) -> str:
    """Return the traceback of an error without secrets; of a long one its beginning and its end."""
    text = _text(error)
    frames = traceback.format_tb(error.__traceback__)
    if len(text) > _HALF:  # Python's own would go through it line by line
        return without_secrets(f"{''.join(frames)}{type(error).__name__}: {text}")
    try:
        return without_secrets("".join(traceback.format_exception(error)))
    except Exception:  # its own text cannot be had
        return error_text(error)


def _text(error: BaseException) -> str:
    """Return the text of an error; py4j's asks the JVM for it, which may be gone."""
    try:
        return _ends(str(error))
    except Exception as problem:
        return f"(its message cannot be had: {type(problem).__name__})"


def _stack_of(error: BaseException) -> str:
    """Return the JVM's stack where pyspark keeps it beside the message: classic and Connect name it differently."""
    try:
        found = getattr(error, "_stackTrace", None) or getattr(error, "_stacktrace", None)
    except Exception:  # an error may answer to every name, and fail at it
        return ""
    return _ends(found) if isinstance(found, str) else ""


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _HALF else f"{text[:_HALF]}\n{text[-_HALF:]}"


def _without_jvm(text: str) -> str:
    """Return the first message of a JVM's stack trace."""
    ends = [at for mark in _OF_JVM if (at := text.find(mark)) >= 0]
    return text[: min(ends, default=len(text))].strip()


def _innermost(text: str) -> str:
    """Return the last error of a JVM's stack trace, and of a Python worker's inside it; empty without any."""
    _, found, rest = text.rpartition(f"\n{_CAUSE}")
    cause = _without_jvm(rest) if found else ""
    _, found, trace = (cause or _without_jvm(text)).rpartition(_PYTHON)
    lines = [line for line in trace.splitlines()[1:] if line and not line.startswith(" ")] if found else []
    return lines[0] if lines else cause
