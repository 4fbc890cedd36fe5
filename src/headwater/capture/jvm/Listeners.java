package headwater;

import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.spark.SparkContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.scheduler.ActiveJob;
import org.apache.spark.scheduler.JobFailed;
import org.apache.spark.scheduler.ResultStage;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import org.apache.spark.scheduler.SparkListenerJobEnd;
import org.apache.spark.scheduler.SparkListenerJobStart;
import org.apache.spark.scheduler.StageInfo;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd;
import org.apache.spark.sql.streaming.StreamingQueryListener;
import org.apache.spark.sql.util.QueryExecutionListener;
import org.apache.spark.storage.RDDInfo;

/**
 * Notes what happens in every session of a JVM until Python asks for it. Spark makes one of each
 * listener for each session, so that none is missed, however short it lives. Compiled by the
 * compiler that Spark itself uses for queries (Janino), which knows no lambdas.
 */
public class Listeners {

    /** What waits for Python; plans are large, so that there is an end to it. */
    public static final LinkedBlockingQueue SEEN = new LinkedBlockingQueue(2000);

    /** The end of an action or a checkpoint, the start of a query, or either of an RDD's save. */
    public static class Seen {
        private final Object subject;
        private final long duration;
        private final Throwable error;
        private final long at = System.nanoTime();

        public Seen(Object subject, long duration, Throwable error) {
            this.subject = subject;
            this.duration = duration;
            this.error = error;
        }

        public boolean isAction() {
            return this.subject instanceof QueryExecution;
        }

        public boolean isSave() {
            return this.subject instanceof Save;
        }

        public boolean isCheckpoint() {
            return this.subject instanceof Checkpoint;
        }

        public Object subject() {
            return this.subject;
        }

        public long duration() {
            return this.duration;
        }

        public Throwable error() {
            return this.error;
        }

        public long age() {
            return System.nanoTime() - this.at;
        }
    }

    /** An RDD whose records are written into files, with the function that writes them. */
    public static class Save {
        private final RDD rdd;
        private final Object function;

        public Save(RDD rdd, Object function) {
            this.rdd = rdd;
            this.function = function;
        }

        public RDD rdd() {
            return this.rdd;
        }

        public Object function() {
            return this.function;
        }
    }

    /** A checkpoint that was made: its query, and the number of the RDD that holds its rows. */
    public static class Checkpoint {
        private final QueryExecution execution;
        private final int rdd;

        public Checkpoint(QueryExecution execution, int rdd) {
            this.execution = execution;
            this.rdd = rdd;
        }

        public QueryExecution execution() {
            return this.execution;
        }

        public int rdd() {
            return this.rdd;
        }
    }

    /** Finds checkpoints: each runs a job whose last RDD is the one that its rows are kept in. */
    public static class Checkpoints extends SparkListener {
        private final ConcurrentHashMap latest = new ConcurrentHashMap();

        public void onJobStart(SparkListenerJobStart event) {
            Properties properties = event.properties();
            String id = properties == null ? null : properties.getProperty("spark.sql.execution.id");
            if (id == null) {
                return;
            }
            Integer known = (Integer) this.latest.get(id);
            int last = known == null ? -1 : known.intValue();
            for (int stage = 0; stage < event.stageInfos().size(); stage++) {
                StageInfo info = (StageInfo) event.stageInfos().apply(stage);
                for (int rdd = 0; rdd < info.rddInfos().size(); rdd++) {
                    last = Math.max(last, ((RDDInfo) info.rddInfos().apply(rdd)).id());
                }
            }
            this.latest.put(id, Integer.valueOf(last));
        }

        public void onOtherEvent(SparkListenerEvent event) {
            if (!(event instanceof SparkListenerSQLExecutionEnd)) {
                return;
            }
            SparkListenerSQLExecutionEnd end = (SparkListenerSQLExecutionEnd) event;
            Integer rdd = (Integer) this.latest.remove(String.valueOf(end.executionId()));
            if (rdd == null || end.qe() == null || !end.executionName().isDefined()) {
                return;
            }
            String name = String.valueOf(end.executionName().get());
            if (name.equals("checkpoint") || name.equals("localCheckpoint")) {
                SEEN.offer(new Seen(new Checkpoint(end.qe(), rdd.intValue()), 0L, null));
            }
        }
    }

    /** Finds saves among the jobs of a context. Spark asks it nothing of stages and tasks. */
    public static class Jobs extends SparkListener {
        private static final String WRITER = "org.apache.spark.internal.io.SparkHadoopWriter";
        private final ConcurrentHashMap saves = new ConcurrentHashMap();

        public void onJobStart(SparkListenerJobStart event) {
            try {
                Properties properties = event.properties();
                if (properties != null && properties.getProperty("spark.sql.execution.id") != null) {
                    return; // a job of an action, which is seen when it ends
                }
                Integer id = Integer.valueOf(event.jobId());
                ActiveJob job = (ActiveJob) active().dagScheduler().jobIdToActiveJob().apply(id);
                Object function = ((ResultStage) job.finalStage()).func();
                if (function.getClass().getName().startsWith(WRITER)) {
                    Save save = new Save(job.finalStage().rdd(), function);
                    this.saves.put(id, save);
                    SEEN.offer(new Seen(save, -1L, null));
                }
            } catch (Exception error) {
                // It is over already, or no save.
            }
        }

        public void onJobEnd(SparkListenerJobEnd event) {
            Object save = this.saves.remove(Integer.valueOf(event.jobId()));
            if (save != null) {
                boolean failed = event.jobResult() instanceof JobFailed;
                Exception error = failed ? ((JobFailed) event.jobResult()).exception() : null;
                SEEN.offer(new Seen(save, 0L, error));
            }
        }

        private static SparkContext active() {
            return (SparkContext) org.apache.spark.SparkContext$.MODULE$.getActive().get();
        }
    }

    public static class Actions implements QueryExecutionListener {
        public void onSuccess(String function, QueryExecution execution, long duration) {
            SEEN.offer(new Seen(execution, duration, null));
        }

        public void onFailure(String function, QueryExecution execution, Exception error) {
            SEEN.offer(new Seen(execution, 0L, error));
        }
    }

    public static class Queries extends StreamingQueryListener {
        public void onQueryStarted(StreamingQueryListener.QueryStartedEvent event) {
            try {
                Object query = active().get(event.id());
                if (query != null) {
                    SEEN.offer(new Seen(query, 0L, null));
                }
            } catch (Exception error) {
                // A query starts, whether it is observed or not.
            }
        }

        public void onQueryProgress(StreamingQueryListener.QueryProgressEvent event) {
        }

        public void onQueryTerminated(StreamingQueryListener.QueryTerminatedEvent event) {
        }

        /** The queries of all sessions, by reflection: the classes differ between Spark 3 and 4. */
        private static Map active() throws Exception {
            Object shared = call(SparkSession.getDefaultSession().get(), "sharedState");
            return (Map) call(shared, "activeStreamingQueries");
        }

        private static Object call(Object thing, String method) throws Exception {
            return thing.getClass().getMethod(method, new Class[0]).invoke(thing, new Object[0]);
        }
    }
}
