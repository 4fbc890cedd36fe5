package example

import org.apache.spark.{SparkConf, SparkContext}
import org.apache.spark.sql.SparkSession

import java.net.URLClassLoader
import java.nio.file.{Files, Paths}
import scala.util.Try

case class Order(id: Int, price: Double)

/** RDDs before there is a session, and then typed datasets in one. */
object Words {
  val home: String = System.getenv("APP_HOME")

  def main(arguments: Array[String]): Unit = {
    Files.createDirectory(Paths.get(home, "words"))
    Files.writeString(Paths.get(home, "words", "a.txt"), "owl cat\nowl\n")
    val context = new SparkContext(new SparkConf().setAppName("Words"))
    val counts = context.textFile(s"$home/words").flatMap(_.split(" ")).map((_, 1)).reduceByKey(_ + _)
    counts.saveAsTextFile(s"$home/counts")
    Try(context.textFile(s"$home/words").map(_.toInt).saveAsTextFile(s"$home/never"))
    datasets()
  }

  def datasets(): Unit = {
    val spark = SparkSession.builder().getOrCreate()
    import spark.implicits._
    Seq(Order(1, 2.5)).toDS().write.parquet(s"$home/orders")
    val orders = spark.read.parquet(s"$home/orders").as[Order]
    orders.map(order => Order(order.id, order.price * 2)).write.parquet(s"$home/doubled")
    orders.filter($"id" > 0).selectExpr("price + id AS total").write.parquet(s"$home/totals")
    orders.rdd.map(_.price).saveAsTextFile(s"$home/prices")
    checkpoints(spark)
    threads(spark)
  }

  /** What cuts plans in two: checkpoints with the same columns, and RDDs. */
  def checkpoints(spark: SparkSession): Unit = {
    import spark.implicits._
    val orders = spark.read.parquet(s"$home/orders")
    val cut = orders.join(spark.read.parquet(s"$home/doubled"), Seq("id"), "left_semi").localCheckpoint()
    val twice = orders.filter($"id" > 0).localCheckpoint().filter($"price" > 0).localCheckpoint()
    cut.write.parquet(s"$home/cut")
    twice.write.parquet(s"$home/twice")
    orders.localCheckpoint(eager = false).write.parquet(s"$home/later")
    spark.createDataFrame(orders.rdd, orders.schema).write.parquet(s"$home/again")
    spark.sparkContext.textFile(s"$home/words").toDF("line").write.parquet(s"$home/lines")
  }

  /** Sessions that are made in threads with other class loaders, as servers have them. */
  def threads(spark: SparkSession): Unit = {
    val system = ClassLoader.getSystemClassLoader
    val loaders = Map("none" -> null, "system" -> system, "own" -> new URLClassLoader(Array(), system))
    for ((name, loader) <- loaders) {
      val write = () => spark.newSession().range(1).write.parquet(s"$home/loader_$name")
      val thread = new Thread(() => write())
      thread.setContextClassLoader(loader)
      thread.start()
      thread.join()
    }
  }
}
