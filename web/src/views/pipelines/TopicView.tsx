// One topic: its last messages, the versions of its schemas, its partitions.
import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { lineageLink } from "../../api/names";
import type { SchemaVersion, TopicDetail } from "../../api/types";
import { FieldChanges } from "../../components/FieldChanges";
import { Icon } from "../../components/Icon";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { WrappedName } from "../../components/WrappedName";
import { short } from "../../graph/words";
import { Level, Section } from "../lineage/PanelParts";
import { reachedLink } from "../records/reached";
import { useParams } from "../tables/parts";
import { Messages } from "./Messages";
import { type From, kafkaQuery, topicQuery } from "./topics";

export function TopicView() {
  const [params] = useParams();
  const node = params.get("node");
  return node ? <NamedByNode node={node} /> : <Shown cluster={params.get("cluster") ?? ""} />;
}

/** A topic that is named by its node in the graph: of the cluster that knows it as that node. */
function NamedByNode({ node }: { node: string }) {
  const topic = node.slice(node.lastIndexOf(":") + 1);
  const clusters = useQuery(kafkaQuery);
  const found = useQueries({
    queries: (clusters.data ?? []).map(({ name }) => topicQuery(name, topic)),
  });
  const place = found.findIndex(({ data }) => data?.nodeId === node);
  const cluster = clusters.data?.[place]?.name;
  if (cluster !== undefined) return <Shown cluster={cluster} named={topic} />;
  if (clusters.error) return <Failure error={clusters.error} />;
  if (clusters.isLoading || found.some(({ isLoading }) => isLoading)) {
    return <Waiting what="the topic" />;
  }
  return (
    <Empty title={`No Kafka cluster of the server has ${topic}`}>
      <p>Start the server with --kafka NAME=HOST:PORT to read its messages.</p>
    </Empty>
  );
}

/** The place in a topic from which on messages are read, as the address says it. */
function fromOf(params: URLSearchParams): From | null {
  const [partition, offset] = [params.get("partition") ?? "", params.get("offset") ?? ""];
  return /^\d+$/.test(partition) && /^\d{1,15}$/.test(offset)
    ? { partition, offset: Number(offset) }
    : null;
}

function Shown({ cluster, named }: { cluster: string; named?: string }) {
  const [params, change] = useParams();
  const topic = named ?? params.get("topic") ?? "";
  useTitle(topic);
  const found = useQuery(topicQuery(cluster, topic));
  const go = (from: From | null) =>
    change({ partition: from?.partition ?? null, offset: from ? String(from.offset) : null });
  return (
    <div className="page">
      <header className="detail-head">
        <h1>
          <Icon name="topic" /> <WrappedName name={topic} />
        </h1>
        <p className="sub">topic · {cluster}</p>
        <p className="deeds">
          {found.data?.nodeId && (
            <>
              <Link href={lineageLink(found.data.nodeId)}>Show in the graph</Link>
              <Link href={reachedLink(found.data.nodeId)}>Trace records</Link>
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
          <Messages {...{ cluster, topic, go }} node={found.data.nodeId} from={fromOf(params)} />
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
            <th className="number">First offset</th>
            <th className="number">Next offset</th>
            <th className="number">Offsets</th>
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
