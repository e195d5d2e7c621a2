"""What shows that a file of CSV was written with the options of its block."""

from __future__ import annotations

import bz2
import gzip
import zlib
from pathlib import Path

import pytest

from airflow_coordination.outputs import OutputError
from airflow_coordination.outputs.formats import check_quoted, text_options

SCHEMA = '{"type":"struct","fields":[{"name":"v","type":"string","nullable":true,"metadata":{}}]}'


@pytest.mark.parametrize(
    ("content", "quoted"),
    [
        (b"", True),
        (b'"a","b"\n"c",""\n', True),
        (b'"two\nlines","a ""q"", w"\n"c","d"\n', True),
        (b'"' + b"x" * 100_000 + b'"\n', True),
        (b'"x","' + b"y" * 100_000 + b'"\n', True),
        (b"a,b\n", False),
        (b'"a",7\n', False),
        (b'"a","b"\nc,"d"\n', False),
        (b'"a" ,"b"\n', False),
        (b'"a",\n', False),
    ],
)
def test_e2_every_value_at_the_beginning_of_a_file_is_quoted(tmp_path: Path, content: bytes, quoted: bool) -> None:
    """E2: blanks that Spark's writer has cut leave no trace but that."""
    (tmp_path / "part-0.csv").write_bytes(content)
    (tmp_path / "part-1.csv.gz").write_bytes(gzip.compress(content))
    (tmp_path / "part-2.csv.bz2").write_bytes(bz2.compress(content))
    (tmp_path / "part-3.csv.deflate").write_bytes(zlib.compress(content))
    options = text_options("csv", {}, SCHEMA)
    for name in ("part-0.csv", "part-1.csv.gz", "part-2.csv.bz2", "part-3.csv.deflate"):
        if quoted:
            check_quoted(str(tmp_path), [name], options, SCHEMA)
        else:
            with pytest.raises(OutputError, match="values without quotes"):
                check_quoted(str(tmp_path), [name], options, SCHEMA)


def test_e2_a_packing_that_cannot_be_looked_into_is_refused(tmp_path: Path) -> None:
    """E2: rather than believed."""
    (tmp_path / "part-0.csv.zst").write_bytes(b"x")
    with pytest.raises(OutputError, match=r"is packed .* Use gzip, bzip2, deflate or no compression"):
        check_quoted(str(tmp_path), ["part-0.csv.zst"], text_options("csv", {}, SCHEMA), SCHEMA)


def test_e2_options_that_are_given_count_on_both_sides(tmp_path: Path) -> None:
    """E2: without regard to case, as Spark has it; who quotes otherwise looks after it."""
    made = text_options("csv", {"DELIMITER": "|", "QuoteAll": "false"}, SCHEMA)
    for options in (made.writing, made.reading):
        assert (options["DELIMITER"], options["QuoteAll"]) == ("|", "false")
    assert "quoteAll" not in made.writing
    (tmp_path / "part-0.csv").write_bytes(b"a|b")
    check_quoted(str(tmp_path), ["part-0.csv"], made, SCHEMA)
    assert text_options("csv", {"header": "true"}, None).writing == {"header": "true"}
    assert text_options("parquet", {}, SCHEMA).writing == {}


@pytest.mark.parametrize(("given", "written"), [("\t", b"\t"), (r"\t", b"\t"), ("||", b"||"), (r"\\", b"\\")])
def test_e2_a_separator_is_understood_as_spark_spells_it(tmp_path: Path, given: str, written: bytes) -> None:
    r"""E2: ``sep="\\t"`` is a tab to Spark, and was published before."""
    (tmp_path / "part-0.csv").write_bytes(b'"a"' + written + b'"b"\n"c"' + written + b'"d"\n')
    check_quoted(str(tmp_path), ["part-0.csv"], text_options("csv", {"sep": given}, SCHEMA), SCHEMA)
