// The type of a column; one that only column lineage names has none, and is marked.
import type { Field } from "../api/types";

export const NOT_IN_SCHEMA = "not in the schema";

export function ColumnType({ field }: { field: Field | undefined }) {
  if (field?.inSchema === false) {
    return (
      <span className="unlisted" title="Named by column lineage, but not in the schema">
        {NOT_IN_SCHEMA}
      </span>
    );
  }
  return <>{field?.type ?? ""}</>;
}
