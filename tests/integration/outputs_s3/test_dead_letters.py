"""Dead letters in the form of Data Prepper, in a bucket."""

from __future__ import annotations

import json

from airflow_coordination.sinks import DataPrepperDeadLetters
from airflow_coordination.testing.sinks import sink_task


def test_they_are_where_data_prepper_would_put_them(s3, bucket, keys) -> None:
    place = DataPrepperDeadLetters(f"s3a://{bucket}", "dlq-files/", pipeline="nightly")
    names = []
    for number in range(2):
        writer = place.open(sink_task())
        writer.write("search", [({"id": number}, "400 mapper_parsing_exception")])
        names += writer.close()
    place.accept("d1", names[1:])
    [key] = keys()
    assert key == f"dlq-files/{names[1]}"
    document = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    assert [each["failedData"]["document"] for each in document["dlqObjects"]] == [{"id": 1}]
