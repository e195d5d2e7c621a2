#!/usr/bin/env bash
# Runs a command with JAVA_HOME set to a Java that Spark can use.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

JAVA_HOME=$("$here/java_home.sh") || {
    echo "Spark needs Java 17 or 21 and none was found. On Debian: apt-get install openjdk-17-jre-headless" >&2
    exit 1
}
export JAVA_HOME
exec "$@"
