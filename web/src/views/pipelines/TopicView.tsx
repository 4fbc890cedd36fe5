// One topic: its last messages, the versions of its schemas, its partitions.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { lineageLink } from "../../api/names";
import { FieldChanges } from "../../components/FieldChanges";
import { Icon } from "../../components/Icon";
import { Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { short } from "../../graph/words";
import { Level, Section } from "../lineage/PanelParts";
import { recordsLink } from "../records/reached";
import { useParams } from "../tables/parts";
import { Messages } from "./Messages";
import { type SchemaVersion, type TopicDetail, topicQuery } from "./topics";

export function TopicView() {
  const [params] = useParams();
  const [cluster, topic] = [params.get("cluster") ?? "", params.get("topic") ?? ""];
  useTitle(topic);
  const found = useQuery(topicQuery(cluster, topic));
  return (
    <div className="page">
      <header className="detail-head">
        <h1>
          <Icon name="topic" /> {topic}
        </h1>
        <p className="sub">topic · {cluster}</p>
        <p className="deeds">
          {found.data?.nodeId && (
            <>
              <Link href={lineageLink(found.data.nodeId)}>Show in the graph</Link>
              <Link href={recordsLink(found.data.nodeId)}>Trace records</Link>
            </>
          )}
          <Link href="/pipelines/topics">All topics</Link>
        </p>
      </header>
      {found.isLoading && <Waiting what="the topic" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data?.problem && <p className="failure">✕ {found.data.problem}</p>}
      {found.data && (
        <Level value="h2">
          <Messages cluster={cluster} topic={topic} node={found.data.nodeId} />
          <div className="columns-2">
            <div>
              {found.data.subjects.map((one) => (
                <Versions key={one.name} name={one.name} versions={one.versions} />
              ))}
              {found.data.subjects.length === 0 && (
                <Section title="Schemas">
                  <p className="sub">The schema registry has no schema for this topic.</p>
                </Section>
              )}
            </div>
            <div>
              <Partitions partitions={found.data.partitions} />
            </div>
          </div>
        </Level>
      )}
    </div>
  );
}

function Versions({ name, versions }: { name: string; versions: SchemaVersion[] }) {
  return (
    <Section title={`Schema ${name}, latest version first`}>
      <ol className="versions">
        {versions.map((one, number) => {
          const before = versions[number + 1];
          return (
            <li key={one.version}>
              <strong>Version {one.version}</strong>{" "}
              <small>
                {KINDS[one.kind] ?? one.kind} · id {one.schemaId} · {one.fields.length} fields
              </small>
              {before && <FieldChanges before={before.fields} after={one.fields} />}
              <details>
                <summary>Read version {one.version}</summary>
                <pre className="source">{one.text}</pre>
              </details>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

const KINDS: Record<string, string> = {
  AVRO: "Avro",
  PROTOBUF: "Protobuf",
  JSON: "JSON Schema",
};

function Partitions({ partitions }: { partitions: TopicDetail["partitions"] }) {
  return (
    <Section title={`Partitions (${partitions.length})`}>
      <table>
        <thead>
          <tr>
            <th className="number">Partition</th>
            <th className="number">First</th>
            <th className="number">Next</th>
            <th className="number">Held</th>
          </tr>
        </thead>
        <tbody>
          {partitions.slice(0, 100).map((one) => (
            <tr key={one.id}>
              <td className="number">{one.id}</td>
              <td className="number">{one.first}</td>
              <td className="number">{one.next}</td>
              <td className="number">{short(one.next - one.first)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {partitions.length > 100 && <p className="sub">{partitions.length - 100} more</p>}
    </Section>
  );
}
