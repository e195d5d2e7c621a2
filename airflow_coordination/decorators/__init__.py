"""Task decorators: ``@task.leased_pyspark``."""
