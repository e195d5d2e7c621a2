#!/bin/bash
# As the entry of DynamoDB Local's own image; what tells the vendor of its use lacks its classes here.
exec java -Dsqlite4java.library.path=/home/dynamodblocal "$@" -disableTelemetry
