"""What people say of a source beside its partitions, and what it means to those who publish."""
