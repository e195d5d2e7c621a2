"""Listing a bucket through boto3 and through Airflow's hook, against a local S3."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from airflow_coordination.sources import FileListing, S3Listing, SourceError, object_listing

KEYS = ["in/a b.json", "in/a/1.json", "in/a|b%.json", "in/ä/\u2028x.json", "in/z.csv", "in/😀.json", "out/1.json"]


@pytest.fixture
def filled(s3, bucket):
    for key in KEYS:
        s3.put_object(Bucket=bucket, Key=key, Body=b"12345")
    return bucket


def test_a_bucket_is_listed_in_pages_in_the_order_of_its_keys(s3, filled, monkeypatch):
    monkeypatch.setenv("MOTO_S3_DEFAULT_MAX_KEYS", "2")
    requests = []
    s3.meta.events.register("before-call.s3.ListObjectsV2", lambda params, **_: requests.append(params["query_string"]))
    listing = S3Listing(f"s3a://{filled}/in/", s3)
    found = list(listing.objects(listing.prefix, ""))
    assert [each.key for each in found] == sorted(KEYS[:6])
    assert len(requests) == 3
    assert {each.size for each in found} == {5}
    assert found[0].etag == "827ccb0eea8a706c4c34a16891f84e7b"
    assert abs(found[0].modified - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("start", range(6))
def test_it_goes_on_after_any_key(s3, filled, start):
    ordered = sorted(KEYS[:6])
    listing = S3Listing(f"s3://{filled}/in/", s3)
    assert [each.key for each in listing.objects("in/", ordered[start])] == ordered[start + 1 :]


def test_the_time_is_the_service_s_own(s3, filled, monkeypatch):
    s3.meta.events.register(
        "after-call.s3.ListObjectsV2",
        lambda parsed, **_: parsed["ResponseMetadata"]["HTTPHeaders"].update(date="Thu, 01 Jan 2026 00:00:07 GMT"),
    )
    assert S3Listing(f"s3://{filled}", s3).now() == datetime(2026, 1, 1, 0, 0, 7, tzinfo=UTC)


def test_scans_create_what_is_there_and_then_what_is_new(s3, filled, supplied):
    supplier = object_listing(f"s3a://{filled}/in/", scan=timedelta(0), exclude_suffix=".csv", client=s3)
    _, partitions = supplied(supplier)
    assert sorted(partitions) == sorted(f"{filled}|{key}" for key in KEYS[:6] if not key.endswith(".csv"))
    payload = partitions[f"{filled}|in/a b.json"]
    assert payload["path"] == f"s3a://{filled}/in/a b.json"
    assert (payload["size"], payload["etag"]) == (5, "827ccb0eea8a706c4c34a16891f84e7b")
    s3.put_object(Bucket=filled, Key="in/a/0.json", Body=b"")
    run, partitions = supplied(supplier)
    assert (run.created.created, len(partitions)) == (1, 6)


def test_an_object_written_again_is_reported_not_read_again(s3, filled, supplied):
    supplier = object_listing(f"s3a://{filled}/in/z.csv", scan=timedelta(0), client=s3)
    supplied(supplier)
    s3.put_object(Bucket=filled, Key="in/z.csv", Body=b"other")
    run, _ = supplied(supplier)
    assert run.created.changed == (f"{filled}|in/z.csv",)


def test_small_objects_form_groups(s3, filled, supplied):
    _, partitions = supplied(object_listing(f"s3a://{filled}/in/", scan="once", max_bytes=20, client=s3))
    paths = [payload["base"] + name for payload in partitions.values() for name in payload["names"]]
    assert sorted(paths) == sorted(f"s3a://{filled}/{key}" for key in KEYS[:6])
    assert sorted(payload["bytes"] for payload in partitions.values()) == [10, 20]


@pytest.mark.slow
@pytest.mark.parametrize("lazily", [False, True], ids=["hook", "function"])
def test_airflow_s_hook_brings_the_client(filled, moto_server, monkeypatch, supplied, lazily):
    from airflow.providers.amazon.aws.hooks.s3 import S3Hook

    connection = {"conn_type": "aws", "extra": {"endpoint_url": moto_server, "region_name": "us-east-1"}}
    monkeypatch.setenv("AIRFLOW_CONN_LOCAL_S3", json.dumps(connection))

    def hook():
        return S3Hook(aws_conn_id="local_s3")

    _, partitions = supplied(object_listing(f"s3://{filled}", scan="once", client=hook if lazily else hook()))
    assert len(partitions) == len(KEYS)


def test_without_a_client_boto3_s_own_settings_count(filled, moto_server, monkeypatch, supplied):
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", moto_server)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    _, partitions = supplied(object_listing(f"s3://{filled}", scan="once"))
    assert len(partitions) == len(KEYS)


def test_a_bucket_that_is_not_there_is_named(s3, supplied):
    supplier = object_listing("s3://no-such-bucket-here", scan="once", client=s3)
    with pytest.raises(SourceError, match=r"Cannot list a bucket: s3://no-such-bucket-here answers NoSuchBucket"):
        supplied(supplier)


def test_a_prefix_that_lists_nothing_is_no_error(s3, filled, supplied, coordinator, caplog):
    run, partitions = supplied(object_listing(f"s3://{filled}/nothing/", scan="once", client=s3))
    assert (run.created.created, partitions) == (0, {})
    assert coordinator.supplying.global_state()["SCAN_COUNT"] == 1
    assert "lists nothing" in caplog.text


def test_requests_are_paid_by_who_makes_them(s3, filled):
    requests = []
    s3.meta.events.register("before-call.s3.ListObjectsV2", lambda params, **_: requests.append(params["headers"]))
    listing = S3Listing(f"s3://{filled}", s3, requester_pays=True)
    assert list(listing.objects("", ""))
    assert listing.now()
    assert [each["x-amz-request-payer"] for each in requests] == ["requester"] * 2


def test_through_fsspec_the_same_names_come_in_the_same_order(s3, filled, moto_server):
    import s3fs

    s3.put_object(Bucket=filled, Key="in/a", Body=b"an object with the name of a directory")
    s3.put_object(Bucket=filled, Key="in/a/", Body=b"")
    filesystem = s3fs.S3FileSystem(endpoint_url=moto_server, skip_instance_cache=True, asynchronous=False)
    through = FileListing(f"s3://{filled}", filesystem)
    plain = S3Listing(f"s3://{filled}", s3)
    found = list(through.objects("in/", ""))
    assert [each.key for each in found] == [e.key for e in plain.objects("in/", "") if not e.key.endswith("/")]
    assert [each.modified for each in found] == [e.modified for e in plain.objects("in/", "") if e.key[-1] != "/"]
    s3.put_object(Bucket=filled, Key="in/new", Body=b"")
    assert "in/new" in [each.key for each in through.objects("in/", "")], "nothing comes from a cache"
