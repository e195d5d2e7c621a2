#!/bin/bash
# As the entry of Airflow's own image: a command of Airflow, unless it is another program.
case "${1:-}" in
    bash | python | airflow) exec "$@" ;;
    *) exec airflow "$@" ;;
esac
