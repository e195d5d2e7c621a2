"""The duties that every source has: sweep, follow-ups, clean-up of parents, retention, collector."""
