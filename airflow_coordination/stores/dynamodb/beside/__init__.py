"""What a store keeps beside leases and head records: documents, and sums for people to look at."""
