"""Head records: read page by page, and which of them readers see, compaction merges."""
