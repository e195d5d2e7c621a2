"""Which files are merged next, how many at once, and what is wrong with the rest."""
