#!/usr/bin/env bash
# Prints the home of a Java 17 or 21, the versions Spark 4 runs on: JAVA_HOME, the java on PATH, then /usr/lib/jvm.
set -euo pipefail

major() {
    "$1/bin/java" -version 2>&1 | sed -nE '1,5s/.*version "([0-9]+).*/\1/p' | head -n 1
}

candidates() {
    [ -z "${JAVA_HOME:-}" ] || echo "$JAVA_HOME"
    on_path=$(command -v java || true)
    [ -z "$on_path" ] || dirname "$(dirname "$(readlink -f "$on_path")")"
    ls -d /usr/lib/jvm/*/ 2>/dev/null | sed 's:/$::' || true
}

while read -r home; do
    [ -x "$home/bin/java" ] || continue
    case "$(major "$home")" in
        17 | 21) echo "$home"; exit 0 ;;
    esac
done < <(candidates)
exit 1
