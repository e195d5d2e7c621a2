"""Files that a reader leaves out, because the least and greatest values of a column in them cannot match."""
