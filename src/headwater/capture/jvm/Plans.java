package headwater;

import java.util.ArrayDeque;
import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType$;
import org.apache.spark.sql.types.StructType;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.collection.Iterable;
import scala.collection.Iterator;
import scala.runtime.AbstractPartialFunction;

/**
 * Writes plans as JSON in bounded memory. Spark writes with each reference to a column its whole
 * type: a projection of all fields of a struct with 1,000 fields takes 600 MB of the driver's heap.
 */
public class Plans {

    /** Bytes of heap that Spark takes for a node, and for a field of a type, measured on 4.1. */
    private static final long NODE = 3000L;
    private static final long FIELD = 600L;

    /** From this weight on, references do not tell their types if these have many fields. */
    private static final long HEAVY = 32000000L;
    private static final int WIDE = 20;

    private final Map widths = new IdentityHashMap();

    /** The plan as JSON; null if that would take more than a quarter of the heap. */
    public static String json(LogicalPlan plan) {
        long most = Runtime.getRuntime().maxMemory() / 4L;
        if (new Plans().weight(plan, HEAVY) <= HEAVY) {
            return plan.toJSON();
        }
        LogicalPlan narrow = (LogicalPlan) plan.transform(new Operators());
        return new Plans().weight(narrow, most) <= most ? narrow.toJSON() : null;
    }

    /** Bytes of heap that the JSON of a plan takes, as far as they matter. */
    private long weight(Object plan, long most) {
        long weight = 0L;
        ArrayDeque pending = new ArrayDeque();
        pending.push(plan);
        while (!pending.isEmpty() && weight <= most) {
            Object value = pending.pop();
            if (value instanceof DataType) {
                weight += FIELD * this.width((DataType) value);
            } else if (value instanceof TreeNode) {
                weight += NODE;
                pushAll(pending, ((Product) value).productIterator());
            } else if (value instanceof Iterable) {
                pushAll(pending, ((Iterable) value).iterator());
            } else if (value instanceof Option && ((Option) value).isDefined()) {
                pending.push(((Option) value).get());
            }
        }
        return weight;
    }

    private static void pushAll(ArrayDeque pending, Iterator values) {
        while (values.hasNext()) {
            Object value = values.next();
            if (value != null) {
                pending.push(value);
            }
        }
    }

    /** The number of types in a type, itself included. */
    private int width(DataType type) {
        Object known = this.widths.get(type);
        if (known != null) {
            return ((Integer) known).intValue();
        }
        int width = 1;
        if (type instanceof StructType) {
            for (int i = 0; i < ((StructType) type).fields().length; i++) {
                width += this.width(((StructType) type).fields()[i].dataType());
            }
        } else if (type instanceof ArrayType) {
            width += this.width(((ArrayType) type).elementType());
        } else if (type instanceof MapType) {
            width += this.width(((MapType) type).keyType());
            width += this.width(((MapType) type).valueType());
        }
        this.widths.put(type, Integer.valueOf(width));
        return width;
    }

    /** Operators with references that do not tell wide types; what they read keeps its types. */
    private static class Operators extends AbstractPartialFunction {
        private final References references = new References();

        public boolean isDefinedAt(Object plan) {
            return !((LogicalPlan) plan).children().isEmpty();
        }

        public Object applyOrElse(Object plan, Function1 otherwise) {
            return this.isDefinedAt(plan)
                ? ((LogicalPlan) plan).transformExpressions(this.references)
                : otherwise.apply(plan);
        }
    }

    private static class References extends AbstractPartialFunction {
        private final Plans plans = new Plans();

        public boolean isDefinedAt(Object expression) {
            return expression instanceof AttributeReference
                && this.plans.width(((AttributeReference) expression).dataType()) > WIDE;
        }

        public Object applyOrElse(Object expression, Function1 otherwise) {
            return this.isDefinedAt(expression)
                ? ((AttributeReference) expression).withDataType(NullType$.MODULE$)
                : otherwise.apply(expression);
        }
    }
}
