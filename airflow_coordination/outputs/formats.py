"""The formats of published files, and the options of their readers: what a manifest may ask of a reader's Spark.

A manifest is read by others than who wrote it. So it may name how text is to be understood, and nothing else: no other
data source, no path or address, no setting of Hadoop (Spark takes every option for one, too), no filter of files.

CSV and JSON give back what was written, where the schema was told. Spark's own defaults do not: its CSV writer cuts
blanks at the edges of texts, its reader takes a line end in a text for the end of the row and an empty text for null,
and both formats keep milliseconds of a time.
"""

from __future__ import annotations

import bz2
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.outputs.layout import values_in
from airflow_coordination.outputs.schemas import flattened, without
from airflow_coordination.systems.objects.storage import OutputError, join, read_bytes, side_by_side
from airflow_coordination.values.input_errors import InvalidInputError, shown

FORMATS: Final = ("parquet", "orc", "json", "csv", "text", "avro")
_WRITTEN: Final = "compression codec"
"""Said of the writing; readers take no notice."""
_TEXT: Final = "encoding charset lineSep locale timeZone mode columnNameOfCorruptRecord samplingRatio multiLine"
_TIMES: Final = "dateFormat timestampFormat timestampNTZFormat enableDateTimeParsingFallback"
_OPTIONS: Final = {
    "parquet": "mergeSchema datetimeRebaseMode int96RebaseMode",
    "orc": "mergeSchema",
    "json": f"{_TEXT} {_TIMES} primitivesAsString prefersDecimal allowComments allowUnquotedFieldNames "
    "allowSingleQuotes allowNumericLeadingZeros allowBackslashEscapingAnyCharacter allowUnquotedControlChars "
    "allowNonNumericNumbers dropFieldIfAllNull ignoreNullFields inferTimestamp maxNestingDepth maxNumLen maxStringLen "
    "singleVariantColumn pretty",
    "csv": f"{_TEXT} {_TIMES} sep delimiter quote escape charToEscapeQuoteEscaping comment header inferSchema "
    "preferDate enforceSchema ignoreLeadingWhiteSpace ignoreTrailingWhiteSpace nullValue nanValue positiveInf "
    "negativeInf emptyValue maxColumns maxCharsPerColumn unescapedQuoteHandling inputBufferSize columnPruning quoteAll "
    "escapeQuotes singleVariantColumn",
    "text": "wholetext lineSep encoding",
    "avro": "avroSchema mode datetimeRebaseMode positionalFieldMatching enableStableIdentifiersForUnionType "
    "stableIdentifierPrefixForUnionType recursiveFieldMaxDepth recordName recordNamespace",
}
KNOWN_OPTIONS: Final = {name: tuple(f"{options} {_WRITTEN}".split()) for name, options in _OPTIONS.items()}
"""The options that readers know, by format; Spark compares them without regard to case."""


def check_format(file_format: object, options: Mapping[Any, Any] | None) -> None:
    """Refuse a format or an option that readers do not know.

    :raises InvalidInputError: naming those they do.
    """
    if not isinstance(file_format, str) or file_format not in FORMATS:
        remedy = f"Give one of {', '.join(FORMATS)}"
        raise InvalidInputError("format", file_format, "is not a format readers know", remedy)
    if options is not None and not isinstance(options, Mapping):
        raise InvalidInputError("options", options, "is no mapping", 'Give options by name: {"header": "true"}')
    known = {name.lower() for name in KNOWN_OPTIONS[file_format]}
    for name, value in (options or {}).items():
        if not isinstance(name, str) or name.lower() not in known:
            remedy = f"Leave it out; readers know {', '.join(sorted(KNOWN_OPTIONS[file_format]))}"
            raise InvalidInputError("options", name, f"is no option that readers of {file_format} know", remedy)
        if not isinstance(value, str | bool | int | float):
            problem = f"is no value of the option {shown(name)}"
            raise InvalidInputError("options", value, problem, "Give text, a number, True or False")


EXACT: Final = ("csv", "json")
REMEDY: Final = "Write with these options: df.write.options(**block.options)"
_NOTHING: Final = "\ufdd0null\ufdd1"
"""Null in CSV: two of Unicode's characters that are none and stand in no text."""
_NO_COLUMN: Final = "\ufdd0corrupt\ufdd1"
"""Readers fill a column of this name with malformed lines, and do not read one of that name."""
_EXACT_TIMES: Final = {
    # With a blank in place of Spark's T: what was written with its milliseconds is no time to a reader.
    "timestampFormat": "yyyy-MM-dd HH:mm:ss.SSSSSSXXXXX",
    "timestampNTZFormat": "yyyy-MM-dd HH:mm:ss.SSSSSS",
    "dateFormat": "yyyy-MM-dd",
}
_TEXTS: Final = {
    "ignoreLeadingWhiteSpace": "false",
    "ignoreTrailingWhiteSpace": "false",
    "nullValue": _NOTHING,
    "emptyValue": "",
    "quote": '"',
    "escape": '"',
}
_WRITING: Final[Mapping[str, Mapping[str, str]]] = {
    "json": _EXACT_TIMES,
    "csv": {**_EXACT_TIMES, **_TEXTS, "quoteAll": "true"},
}
_READING: Final = {"enableDateTimeParsingFallback": "false", "columnNameOfCorruptRecord": _NO_COLUMN}
_OTHERWISE: Final = {*map(str.lower, _TEXTS), "quoteall", "encoding", "charset", "linesep", "comment"}
_SPELT: Final = {r"\t": "\t", r"\b": "\b", r"\f": "\f", r"\r": "\r", r"\\": "\\", r"\"": '"', r"\'": "'"}
"""Separators as Spark also takes them, in two characters."""
_PACKED: Final = (".gz", ".deflate", ".bz2", ".zst", ".zstd", ".snappy", ".lz4")
_LOOKED_AT: Final = 64 * 1024
_VALUE: Final = re.compile(rb'"(?:[^"]|"")*+"')
_UNPACKED: Final[Mapping[str, Callable[[], Any]]] = {
    ".gz": lambda: zlib.decompressobj(wbits=31),
    ".deflate": zlib.decompressobj,
    ".bz2": bz2.BZ2Decompressor,
}


@dataclass(frozen=True, slots=True)
class TextOptions:
    """The options of one block on both sides.

    :param writing: for Spark's writer.
    :param reading: for Spark's reader; they travel in the manifest.
    :param exact: whether they give back what was written, and a block that was written otherwise is refused.
    """

    writing: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)
    exact: bool = False
    given: frozenset[str] = frozenset()
    """The names that the publisher gave, in lower case: who quotes otherwise looks after it."""


def text_options(file_format: str, given: Mapping[str, Any], schema: str | None) -> TextOptions:
    """Return the options of a block; those that its publisher gave count on both sides.

    :param schema: the schema that was told; without one, texts are guessed from as they always were.
    :raises InvalidInputError: for a column of a type that the format cannot give back.
    """
    if schema is None or file_format not in EXACT:
        return TextOptions(given, given)
    for column, kind in flattened(schema).items():
        if (file_format == "csv" and kind == "binary") or (column.endswith("{key}") and not kind.startswith("string")):
            problem = f"has the column {column!a} of type {kind}, which {file_format} does not give back"
            raise InvalidInputError("schema", kind, problem, "Cast it to text, or publish as Parquet")
    writing = _WRITING[file_format]
    more = {"multiLine": "true"} if file_format == "csv" else {}
    reading = {**{name: value for name, value in writing.items() if name != "quoteAll"}, **_READING, **more}
    return TextOptions(_with(writing, given), _with(reading, given), exact=True, given=frozenset(map(str.lower, given)))


def check_quoted(directory: str, paths: Sequence[str], options: TextOptions, schema: str) -> None:
    """Refuse files of CSV that were written without the options of their block: what they lost cannot be seen in them.

    :param options: of the block.
    :param schema: the one that was told: without texts in the files there is nothing to lose.
    :raises OutputError: when a file begins with something that is not quoted.
    """
    kinds = flattened(without(schema, tuple({name for path in paths for name in values_in(path)}))).values()
    if options.given & _OTHERWISE or not any(kind.startswith("string") for kind in kinds):
        return
    named = {name.lower(): value for name, value in options.reading.items()}
    given = str(named.get("sep", named.get("delimiter", ",")))
    separator = _SPELT.get(given, given).encode()

    def check(path: str) -> None:
        address = join(directory, path)
        beginning = _beginning(read_bytes(address, 0, _LOOKED_AT), path, address)
        if not all(_quoted(beginning, separator)):
            problem = "holds values without quotes, so blanks at their edges, empty texts and null may be lost"
            raise OutputError("publish CSV with schema=…", address, problem, REMEDY)

    side_by_side(check, paths)


def _quoted(beginning: bytes, separator: bytes) -> Iterator[bool]:
    """Yield, value by value, whether it is quoted; the last one may be cut off."""
    at = 0
    while at < len(beginning):
        yield beginning[at : at + 1] == b'"'
        value = _VALUE.match(beginning, at)
        if value is None or value.end() == len(beginning):
            return
        at = value.end()
        end = separator if beginning.startswith(separator, at) else b"\n"
        yield beginning.startswith(end, at)
        at += len(end)


def _beginning(content: bytes, path: str, address: str) -> bytes:
    """Return what a file begins with, unpacked."""
    suffix = next(
        (each for each in (".gz", ".deflate", ".bz2", ".zst", ".snappy", ".lz4") if path.endswith(each)), None
    )
    if suffix is None:
        return content
    if suffix not in _UNPACKED:
        problem = f"is packed ({suffix}) so that it cannot be looked at here"
        raise OutputError("publish CSV with schema=…", address, problem, "Use gzip, bzip2, deflate or no compression")
    return bytes(_UNPACKED[suffix]().decompress(content))


def _with(options: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those that were given in their place, whose names Spark compares without regard to case."""
    names = {str(name).lower() for name in given}
    if "delimiter" in names or "sep" in names:
        names |= {"sep", "delimiter"}
    return {name: value for name, value in options.items() if name.lower() not in names} | dict(given)
