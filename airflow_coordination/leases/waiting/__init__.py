"""Waiting on a source: what one pass over it sees, and what a sensor or trigger concludes from several."""
