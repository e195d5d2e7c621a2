"""The work without a lease: plain.py FOLDER."""

import sys

from pyspark.sql import SparkSession
from work import write

spark = SparkSession.builder.getOrCreate()
write(spark, sys.argv[1])
spark.stop()
