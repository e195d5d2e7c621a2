"""A folder for each outside system: supplier, reader, sink, what follows an ending. Here: what these share."""
