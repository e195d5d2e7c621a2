"""OpenSearch: an index as a sink, bulks by record id, fenced."""
