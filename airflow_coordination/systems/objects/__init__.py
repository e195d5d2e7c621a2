"""S3 and files: storage as such, its listings as partitions, files as a sink, objects that are deleted afterwards."""
