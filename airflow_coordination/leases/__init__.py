"""The lease protocol. Pure Python, standard library only, no I/O of its own."""
