"""Pure decisions: everything is an argument, also the time; no store, no client, no clock."""
