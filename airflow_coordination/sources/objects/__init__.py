"""Objects of a storage: what a listing shows, alone or in groups, becomes partitions."""
