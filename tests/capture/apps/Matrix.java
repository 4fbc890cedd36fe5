package example;

import java.io.File;
import java.io.FileWriter;
import org.apache.spark.api.java.function.VoidFunction2;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.streaming.DataStreamWriter;
import org.apache.spark.sql.streaming.StreamingQuery;
import org.apache.spark.sql.streaming.Trigger;

/** What matrix.py does, without Python: two streaming queries and a batch write, then an ending. */
public class Matrix {
    static final String HOME = System.getenv("APP_HOME");

    public static void main(String[] arguments) throws Exception {
        String how = arguments[0];
        final SparkSession spark = SparkSession.builder().appName("Test App").getOrCreate();
        new File(HOME + "/in").mkdir();
        FileWriter file = new FileWriter(HOME + "/in/a.json");
        file.write("{\"id\": 1, \"price\": 2.5}\n");
        file.close();
        atOnce(spark.newSession());
        Dataset source = spark.readStream().schema("id int, price double").json(HOME + "/in");
        StreamingQuery streaming = into(source, "streaming", "/out").start();
        DataStreamWriter writer = source.writeStream();
        writer.queryName("each");
        writer.foreachBatch(new VoidFunction2() {
            public void call(Object batch, Object number) {
                write((Dataset) batch, "append", "/each");
            }
        });
        StreamingQuery each = writer.start();
        streaming.processAllAvailable();
        each.processAllAvailable();
        Thread held = new Thread(new Runnable() {
            public void run() {
                String slept = "reflect('java.lang.Thread', 'sleep', 3600000L) as slept";
                write(files(spark).selectExpr(new String[] {"id", slept}), "overwrite", "/batch");
            }
        });
        held.setDaemon(true);
        held.start();
        while (spark.sparkContext().statusTracker().getActiveJobIds().length == 0) {
            Thread.sleep(50);
        }
        new File(HOME + "/ready").createNewFile();
        if (how.equals("wait")) {
            streaming.awaitTermination();
        }
        while (!new File(HOME + "/go").exists()) {
            Thread.sleep(50);
        }
        if (how.equals("raise")) {
            throw new IllegalStateException("no more of this");
        }
        if (how.equals("exit")) {
            write(spark.read().parquet(HOME + "/short"), "error", "/last");
            System.exit(3);
        }
        if (how.equals("stop")) {
            spark.stop();
            SparkSession again = SparkSession.builder().appName("Second App").getOrCreate();
            write(again.read().parquet(HOME + "/short"), "error", "/second");
        }
    }

    /** A write and a query that are over at once, in a session of their own. */
    static void atOnce(SparkSession session) throws Exception {
        Dataset doubled = files(session).selectExpr(new String[] {"id", "price * 2 as doubled"});
        write(doubled, "error", "/short");
        Dataset source = session.readStream().schema("id int, price double").json(HOME + "/in");
        DataStreamWriter writer = into(source, "brief", "/brief");
        writer.trigger(Trigger.AvailableNow());
        writer.start().awaitTermination();
    }

    static Dataset files(SparkSession session) {
        return session.read().schema("id int, price double").json(HOME + "/in");
    }

    static void write(Dataset rows, String mode, String place) {
        DataFrameWriter writer = rows.write();
        writer.mode(mode);
        writer.parquet(HOME + place);
    }

    static DataStreamWriter into(Dataset rows, String name, String place) {
        DataStreamWriter writer = rows.writeStream();
        writer.queryName(name);
        writer.format("parquet");
        writer.option("path", HOME + place);
        writer.option("checkpointLocation", HOME + place + "-checkpoint");
        return writer;
    }
}
