"""No secret in an address, a mask, an error, a span; and none is lost (B4)."""

import json
import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest
from airflow.sdk import Connection
from airflow.sdk.log import redact
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sqlalchemy.engine import make_url

from airflow_coordination.hooks.amazon import AmazonAccess
from airflow_coordination.hooks.connection import read_connection
from airflow_coordination.leases import SettingsError
from airflow_coordination.sources import sql_ranges
from airflow_coordination.stores import open_store, parse_config
from airflow_coordination.stores.addresses import public_address
from airflow_coordination.stores.dynamodb.options import options_of
from airflow_coordination.submission.credential_routes import Driver
from airflow_coordination.submission.driver_inputs import inputs_for
from airflow_coordination.submission.spark_submit import _passwords
from airflow_coordination.systems.spark.error_text import error_text
from airflow_coordination.values.scrubbing import forms, know, without_known

PG = "postgresql+psycopg://u@h/d"
PASSWORDS = [
    "hunter2-plain",
    "+plus@hunter2",
    "a+b/c%hunter2",
    "a?hunter2=1&x",
    "with blank hunter2",
    "pä&ss=hunter2",
    "x:y#hunter2",
    "a'\"hunter2\\z",
    "ab,c;d~e*f!hunter2(x)",
    "%2Fhunter2",
]


def connection(**fields):
    extra = fields.pop("extra", None)
    return Connection(conn_id="c", conn_type="coordination", extra=json.dumps(extra) if extra else None, **fields)


@pytest.mark.parametrize("place", ["field", "url", "password=", "sslpassword=", "object"])
@pytest.mark.parametrize("password", PASSWORDS)
def test_b4_a_password_is_masked_in_every_form_and_reaches_the_driver(password, place):
    """B4 a, b: with + and other special characters, in the query, in the connection's field."""
    written = quote(password, safe="")
    said = {
        "field": {"host": PG, "password": password},
        "url": {"host": PG.replace("u@", f"u:{written}@")},
        "password=": {"host": f"{PG}?password={quote_plus(password)}"},
        "sslpassword=": {"host": f"{PG}?sslpassword={quote_plus(password)}"},
        "object": {"extra": {"source_coordination": {"store": {"sql": {"url": PG.replace("u@", f"u:{written}@")}}}}},
    }[place]
    store = read_connection(connection(**said))
    text = inputs_for(store, Driver.WORKER).envelope.store
    url = make_url(text)
    assert password in (url.password, url.query.get("password"), url.query.get("sslpassword"))
    for shown in (text, password, repr(password), json.dumps(password), str(url.query)):
        assert "hunter2" not in redact(shown)
        assert "hunter2" not in without_known(shown)
    assert "hunter2" not in repr(store) + public_address(text)


@pytest.mark.parametrize(
    "host", ["postgresql+psycopg:///d?host=/var/run/postgresql&user=u", "postgresql+psycopg://u@/d", "postgresql:///d"]
)
def test_b4_a_url_without_a_host_keeps_the_connections_password(host):
    """B4 f: PostgreSQL's socket may ask for a password, too."""
    text = read_connection(connection(host=host, password="f+ hunter2")).driver_environment()["COORDINATION_STORE"]
    _, arguments = make_url(text).get_dialect()().create_connect_args(make_url(text))
    assert arguments["password"] == "f+ hunter2"


S = "hunter2hunter2"
ROLE = "arn:aws:iam::123456789012:role/x"
MALFORMED = {
    "port": f"postgresql+psycopg://u:p@ss:{S}@h/d",
    "scheme": f"postgres://u:a?{S}@h/d",
    "mysql": f"mysql://u:{S}@h/d",
    "blank": f"postgresql+psycopg://u:{S} x: y@h/d",
    "yaml": f"postgresql+psycopg://u:{S}: y@h/d",
    "newline": f"postgresql+psycopg://u:{S}@h/d\n#x",
    "no number": f"postgresql+psycopg://u:{S}@h:port/d",
    "no at": f"postgresql+psycopg://u:{S}",
    "keys": f"dynamodb://AKIA:{S}@T?region=us-east-1",
    "endpoint": f"dynamodb://TTTT?endpoint_url=http://u:{S}@h",
    "external id": f"dynamodb://TTTT?sts_external_id={S}",
    "bad external id": f"dynamodb://TTTT?sts_external_id={S}%20x&sts_role_arn=arn:aws:iam::123456789012:role/x",
    "key option": f"dynamodb://TTTT?aws_secret_access_key={S}",
    "no option": f"dynamodb://TTTT?{S}",
    "quoted": f"'postgresql+psycopg://u:{S}@h/d'",
}
OBJECTS = {
    "yaml text": f"store: {{sql: {{url: 'postgresql+psycopg://u:{S}@h/d', pass: x}}}}",
    "broken yaml": f"store: {{sql: {{url: 'postgresql+psycopg://u:{S}@h/d'",
    "url as key": {f"postgresql://u:{S}": "y@h/d"},
    "url as store": {"store": f"postgresql://u:{S}: y@h/d"},
    "prefix": {"partition_prefix": {"password": S}, "store": {"in_memory": None}},
    "list": {"store": {"sql": {"url": [f"postgresql+psycopg://u:{S}@h/d"]}}},
    "list as store": {"store": [f"postgresql+psycopg://u:{S}@h/d"]},
}


def told(call):
    """Return everything that a log, a page or a pickle may get of an error."""
    with pytest.raises(SettingsError) as refused:
        call()
    error = refused.value
    return "".join(traceback.format_exception(error)) + repr(error) + str(error.args)


@pytest.mark.parametrize("host", MALFORMED.values(), ids=MALFORMED)
def test_b4_a_malformed_address_is_refused_without_its_secret(host):
    """B4 e: not only masked afterwards, but not said."""
    assert S not in told(lambda: read_connection(connection(host=host)).driver_environment() and open_store(host))
    assert S not in told(lambda: open_store(host))
    assert S not in public_address(host)


@pytest.mark.parametrize("block", OBJECTS.values(), ids=OBJECTS)
def test_b4_a_malformed_object_is_refused_without_its_secret(block):
    """B4 e."""
    assert S not in told(lambda: read_connection(connection(extra={"source_coordination": block})))
    assert S not in told(lambda: open_store(block))


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (
            "postgresql://me:pw@db.example:5432/c?sslmode=require&password=x",
            "postgresql://me@db.example:5432/c?sslmode=require",
        ),
        ("postgresql://me@[::1]:5432/c", "postgresql://me@[::1]:5432/c"),
        ("postgresql:///c?host=/var/run", "postgresql:///c?host=/var/run"),
        ("sqlite:////home/a@b/c d.db", "sqlite:////home/a@b/c d.db"),
        ("dynamodb://T?region=eu-west-1", "dynamodb://T?region=eu-west-1"),
        ("memory://name", "memory://name"),
        ("postgresql://u:p@ss@h/d", "postgresql://(not shown)"),
        ("what is this", "(not shown)"),
    ],
)
def test_b4_what_people_may_see_of_an_address(address, shown):
    """B4 e: of what cannot be understood, no more than the scheme."""
    assert public_address(address) == shown


def test_b4_a_known_secret_is_in_no_error_that_is_stored():
    """B4 c: the driver's own password, where no pattern would look for it."""
    parse_config("postgresql+psycopg://u:q7+Zk%40w9@h/d?sslpassword=other-q7Zk")
    text = error_text(RuntimeError("cannot log in with q7+Zk@w9 (or q7%2BZk%40w9); key opened by other-q7Zk"))
    assert text == "RuntimeError: cannot log in with *** (or ***); key opened by ***"


def test_b4_a_span_tells_an_error_without_its_secret(monkeypatch):
    """B4 c: OpenTelemetry keeps message and stack of what passes a span, unless told otherwise."""
    from types import SimpleNamespace

    from airflow_coordination.hooks import telemetry
    from airflow_coordination.leases import Fence

    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(telemetry, "tracer", provider.get_tracer("test"))
    parse_config("postgresql+psycopg://u:span-q7Zk@h/d")
    context = {"ti": SimpleNamespace(stats_tags={})}
    with (
        pytest.raises(ValueError, match="span-q7Zk"),
        telemetry.lease_span(context, "flights", SimpleNamespace(key="a", fence=Fence(1, "n"))),
    ):
        raise ValueError("no entry with span-q7Zk")
    [span] = spans.get_finished_spans()
    assert "span-q7Zk" not in span.to_json()
    assert span.status.description == "ValueError: no entry with ***"


def url_ranges():
    return sql_ranges(f"postgresql://u:{S}@h/d", "t", "id", partitions=2)


@pytest.mark.parametrize(
    "holder",
    [
        lambda: parse_config(f"postgresql://u:{S}@h/d"),
        lambda: parse_config({"store": {"dynamodb": {"table_name": "TTTT", "sts_external_id": S}}}),
        lambda: options_of(
            "dynamodb://TTTT", {"sts_external_id": S, "sts_role_arn": "arn:aws:iam::123456789012:role/x"}
        ),
        url_ranges,
        lambda: AmazonAccess("aws", "AKIA", S),
        lambda: inputs_for(read_connection(connection(host=PG, password=S)), Driver.WORKER),
        lambda: read_connection(connection(host=PG, password=S)),
    ],
)
def test_b9_what_holds_a_secret_is_neither_pickled_nor_shown(holder):
    """B9: as the stores."""
    held = holder()
    assert S not in repr(held)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(held)


def database():
    return f"postgresql://u:{S}@h/d"


def test_b9_ranges_with_a_function_can_still_be_sent():
    """B9: the function returns the URL where it is needed."""
    ranges = sql_ranges(database, "t", "id", partitions=2)
    assert pickle.loads(pickle.dumps(ranges)).key.column == "id"


def test_b4_a_secret_that_is_a_word_of_the_patterns_does_not_hide_others_from_them():
    """B4: the pattern that follows would no longer find what it guards."""
    parse_config("postgresql+psycopg://u:secret@h/d")
    assert error_text(RuntimeError("fs.s3a.secret.key=abc")) == "RuntimeError: fs.s3a.secret.key=***"


def test_b4_a_short_secret_is_hidden_as_a_word_and_leaves_other_words_alone():
    """B4: ``test`` is a secret of many a local set-up, and stands in ``latest`` by chance."""
    know(["b4tes"])
    assert without_known("column 'b4test' not found in lab4tes.csv") == "column 'b4test' not found in lab4tes.csv"
    assert without_known("failed for b4tes, see u:b4tes@h") == "failed for ***, see u:***@h"


def test_b4_our_own_words_are_no_secrets():
    know(["airflow", "spark"])
    assert without_known("airflow coordination show, spark/x.py") == "airflow coordination show, spark/x.py"


def test_b4_no_form_of_a_secret_is_shorter_than_what_is_passed_over():
    assert "b%" not in forms("b%25")
    assert all(len(form) >= 4 for form in forms("p%40"))


@pytest.mark.parametrize(
    ("connection", "found"),
    [
        ('{"conn_type": "postgres", "host": "dwh", "password": "b"}', {"b"}),
        ("postgres://u:p%40ss@dwh/postgres", {"p@ss"}),
        ("{", set()),
    ],
)
def test_b4_a_connection_is_compared_by_its_password(connection, found):
    assert _passwords(connection) == found
