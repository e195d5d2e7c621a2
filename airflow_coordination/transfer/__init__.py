"""A source as a file of JSON lines, on its way from one store to another."""
