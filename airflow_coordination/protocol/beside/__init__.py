"""What a store may keep beside leases and head records: documents, and sums for people to look at."""
