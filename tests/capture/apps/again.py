"""Two Spark contexts one after the other, each with a streaming query that ends by itself."""

import headwater
from capture.apps.session import HOME, session

(HOME / "in").mkdir()
(HOME / "in" / "a.json").write_text('{"id": 1}\n')
for name in ("first", "second"):
    spark = session()
    headwater.attach(spark)
    source = spark.readStream.schema("id int").json(str(HOME / "in"))
    query = (
        source.writeStream.queryName(name)
        .format("parquet")
        .option("path", str(HOME / name))
        .option("checkpointLocation", str(HOME / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    source.sparkSession.createDataFrame([(1,)], "id int").write.parquet(str(HOME / f"{name}-b"))
    spark.stop()
