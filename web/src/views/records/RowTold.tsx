// A row and its messages, as `headwater why --json` tells them.
import { Icon } from "../../components/Icon";
import { PeekLink } from "../pipelines/PeekLink";
import { gradeOf, type Record, type RowAnswer, recordsOf } from "./answer";
import { Chapter } from "./Story";

const SHOWN = 20; // messages

export function MessagesChapter({ row, topics }: { row: RowAnswer; topics: Map<string, string> }) {
  const { records } = row;
  if (!records) return null;
  const found = recordsOf(row);
  const count = found.length === 1 ? "1 message" : `${found.length.toLocaleString("en")} messages`;
  return (
    <Chapter sign={<Icon name="topic" />} title={count}>
      <small>
        <strong>{gradeOf(records)}</strong>: {records.reason}
      </small>
      {found.slice(0, SHOWN).map((record) => (
        <Message
          key={`${record.topic}/${record.partition}@${record.offset}`}
          record={record}
          node={topics.get(record.topic) ?? null}
        />
      ))}
      {found.length > SHOWN && <small>and {found.length - SHOWN} more</small>}
    </Chapter>
  );
}

function Message({ record, node }: { record: Record; node: string | null }) {
  const { topic, partition, offset, message } = record;
  const place = `${topic}/${partition}@${offset}`;
  return (
    <div className="made">
      {node ? (
        <PeekLink node={node} partition={String(partition)} offset={offset} fallback={place}>
          {place}
        </PeekLink>
      ) : (
        place
      )}
      {message != null && <pre>{JSON.stringify(message, null, 2)}</pre>}
    </div>
  );
}

export function RowChapter({ row, table }: { row: RowAnswer; table: string }) {
  return (
    <Chapter sign={<Icon name="table" />} title={`The row of ${table}`}>
      <small>
        {row.snapshot ? `written by snapshot ${row.snapshot.id}` : "written by an unknown snapshot"}
        {": "}
        <strong>{row.exact ? "exact" : row.snapshot ? "superset" : "not known"}</strong>
        {row.reason && `, ${row.reason}`}
      </small>
      <dl className="facts">
        {Object.entries(row.values).map(([column, value]) => (
          <div key={column} className="fact">
            <dt>{column}</dt>
            <dd>
              <code>{typeof value === "string" ? value : JSON.stringify(value)}</code>
            </dd>
          </div>
        ))}
      </dl>
    </Chapter>
  );
}
