#!/bin/bash
# As the entry of PostgreSQL's own image: makes the cluster in an empty volume, then serves it.
set -euo pipefail
chown postgres: "$PGDATA"
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    word=$(mktemp)
    echo "$POSTGRES_PASSWORD" >"$word"
    chown postgres: "$word"
    as_postgres initdb --username="$POSTGRES_USER" --pwfile="$word" --auth-local=trust --auth-host=scram-sha-256 >/dev/null
    rm "$word"
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    as_postgres pg_ctl --options="-c listen_addresses=''" --wait start >/dev/null
    [ "$POSTGRES_DB" = postgres ] || as_postgres createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
    as_postgres pg_ctl --wait stop >/dev/null
fi
exec setpriv --reuid=postgres --regid=postgres --init-groups postgres -c listen_addresses='*'
