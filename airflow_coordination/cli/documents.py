"""Documents on the command line: their text from a file or standard input, and their versions."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from airflow_coordination.cli.output import Row, print_rows
from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.protocol.beside.documents import MAX_DOCUMENT_BYTES, Document
from airflow_coordination.values.input_errors import SettingsError


def text_of(file: str) -> str:
    """Return what a file or standard input says.

    :raises SettingsError: when it cannot be read, or is too long for a document.
    """
    try:
        text = sys.stdin.read(MAX_DOCUMENT_BYTES + 1) if file == "-" else Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError("file", file, f"cannot be read ({error})", "Name a JSON file, or - for stdin") from None
    if (size := len(text.encode())) > MAX_DOCUMENT_BYTES:
        problem = f"takes {size} bytes or more, the limit is {MAX_DOCUMENT_BYTES}"
        raise SettingsError("file", file, problem, "Say less in it")
    return text


def print_versions(versions: Iterable[Document], args: Namespace) -> None:
    """Print versions of a document: so many of them, or those of an interval.

    :param versions: the newest first.
    :param args: ``limit``, ``interval`` and ``output``.
    :raises InvalidInputError: when the interval is none.
    """
    within = parse_interval("interval", args.interval) if args.interval else None
    found = []
    for document in versions:
        if within is not None and document.at < within.start:
            break
        if within is None or document.at < within.end:
            found.append(version_row(document))
        if len(found) >= args.limit:
            break
    print_rows(found, args.output)


def version_row(document: Document) -> Row:
    """Return a version of a document as a row."""
    named = ("version", "at", "author", "comment", "content")
    return {name: getattr(document, name) for name in named}
