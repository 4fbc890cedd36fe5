"""A streaming query that lives until the driver ends."""

import headwater
from capture.apps.session import HOME, session

spark = session()
headwater.attach(spark)

(HOME / "in").mkdir(exist_ok=True)
(HOME / "in" / "a.json").write_text('{"id": 1, "price": 2.5}\n')
source = spark.readStream.schema("id int, price double").json(str(HOME / "in"))
query = (
    source.selectExpr("id", "price * 2 as total")
    .writeStream.queryName("live")
    .format("parquet")
    .option("path", str(HOME / "out"))
    .option("checkpointLocation", str(HOME / "checkpoint"))
    .trigger(processingTime="200 milliseconds")
    .start()
)
query.processAllAvailable()
(HOME / "ready").touch()
query.awaitTermination()
