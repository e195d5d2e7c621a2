"""Manifests that nobody has written so: each is understood, or named and left."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_coordination.outputs import Manifest, OutputError
from airflow_coordination.outputs.formats import FORMATS, KNOWN_OPTIONS
from airflow_coordination.outputs.layout import is_below
from airflow_coordination.outputs.manifests import DataFile, Reference
from airflow_coordination.outputs.schemas import flattened

ADDRESS = "/out/_attempts/_partition=x/_attempt=1-a/_block=d-1/_manifest.json"
SCHEMA = '{"type":"struct","fields":[{"name":"n","type":"long","nullable":true,"metadata":{}}]}'
WHOLE = json.loads(
    Manifest(
        source="s|PARTITION",
        key="k",
        dataset="d",
        fence="1-a",
        directory=ADDRESS.rpartition("/")[0],
        files=(DataFile("p=1/part-0.csv", 9, 3, SCHEMA), DataFile("part-1.csv", 7)),
        rows=3,
        format="csv",
        options={"header": "true"},
        follows=Reference("/out/a", "0" * 64),
        schema=SCHEMA,
        zone="Europe/Berlin",
    ).to_bytes()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
LIKELY = st.sampled_from(
    [
        SCHEMA,
        "jdbc",
        "csv",
        "path",
        "../x",
        "",
        "[]",
        "{}",
        -1,
        0,
        2**70,
        [],
        {},
        [None],
        {"type": "udt"},
        {"header": [1]},
    ]
)
VALUES = st.recursive(
    SCALARS | LIKELY, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=6), each, max_size=3)
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, each in inside for place in places(each, (*path, name)))]


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(value[path[0]], path[1:], new)
    return copy


def understood(content: bytes) -> Manifest | None:
    """Return the manifest, ``None`` if it is refused by an error of ours that names it."""
    try:
        return Manifest.from_bytes(content, ADDRESS)
    except OutputError as error:
        named = (error.address == ADDRESS, bool(error.remedy))
    assert named == (True, True)
    return None


def read(content: bytes) -> None:
    """Read a manifest, and see that what is obeyed was looked at."""
    manifest = understood(content)
    if manifest is None:
        return
    assert manifest.format in FORMATS
    known = {name.lower() for name in KNOWN_OPTIONS[manifest.format]}
    assert all(name.lower() in known for name in manifest.options)
    assert all(is_below(file.path) and file.size >= 0 for file in manifest.files)
    for schema in manifest.schemas():
        assert "udt" not in flattened(schema).values()
    assert Manifest.from_bytes(manifest.to_bytes(), ADDRESS) == manifest


@given(st.sampled_from(places(WHOLE)), VALUES)
@example(("version",), True)
@example(("schema",), json.dumps({"type": "struct", "fields": [{"name": "n", "type": {"type": "udt"}}]}))
@example(("schemas", 0), json.dumps({"type": "struct", "fields": [{"name": "n", "type": ["x"]}]}))
@example(("schemas", 0), json.dumps({"type": "struct", "fields": {"name": "n"}}))
@example(("schemas", 0), json.dumps({"type": "struct", "fields": [{"name": "n", "type": 7, "metadata": 7}]}))
@example(("schema",), json.dumps({"type": "struct", "fields": [{"name": "n", "type": "long", "metadata": 7}]}))
@example(("schema",), json.dumps({"type": "struct", "fields": [{"name": ["n"], "type": "long"}]}))
@example(("schema",), json.dumps({"type": "struct", "fields": [{"name": "n", "type": {"type": "struct"}}]}))
@example(("schema",), SCHEMA.replace('"metadata":{}', '"metadata":{"__COLLATIONS":7}'))
@example(("files", 0, 0), "a\ud800")
@settings(deadline=None, max_examples=150)
def test_d9_a_manifest_with_another_value_anywhere_is_understood_or_named(place: tuple[Any, ...], value: Any) -> None:
    """D9: whatever it is, one error of ours, and nothing is obeyed that was not looked at."""
    read(json.dumps(changed(WHOLE, place, value)).encode())


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode(errors="surrogatepass")))
@settings(deadline=None, max_examples=100)
def test_d9_what_is_no_manifest_at_all_is_named(content: bytes) -> None:
    """D9: bytes of any kind."""
    read(content)
