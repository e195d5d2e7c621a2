"""The formats of published files, and the options of their readers: what a manifest may ask of a reader's Spark.

A manifest is read by others than who wrote it. So it may name how text is to be understood, and nothing else: no other
data source, no path or address, no setting of Hadoop (Spark takes every option for one, too), no filter of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
