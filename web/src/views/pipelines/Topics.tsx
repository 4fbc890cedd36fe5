// The topics of the Kafka clusters that the server was told of.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { lineageLink } from "../../api/names";
import type { Topic, TopicCluster } from "../../api/types";
import { Icon } from "../../components/Icon";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { short } from "../../graph/words";
import { Filter, useParams } from "../tables/parts";
import { Tabs } from "./Tabs";
import { kafkaQuery, topicLink, topicsQuery } from "./topics";

export function Topics() {
  useTitle("Topics");
  const clusters = useQuery(kafkaQuery);
  if (clusters.error) return <Failure error={clusters.error} />;
  return (
    <div className="page">
      <Tabs />
      {!clusters.data && <Waiting what="topics" />}
      {clusters.data?.length === 0 && <Teach />}
      {clusters.data?.map((cluster) => (
        <One key={cluster.name} cluster={cluster} />
      ))}
    </div>
  );
}

function Teach() {
  return (
    <Empty title="No topics">
      <p>
        Start the server with the address of a Kafka cluster, and of its schema registry if it has
        one, to see topics, schema versions and the latest messages here:
      </p>
      <pre>headwater server --kafka lab=127.0.0.1:9092?registry=http://127.0.0.1:8081</pre>
      <p>
        Everyone who can read lineage can then read messages too, except with a key that has
        namespaces. Secrets in messages are masked.
      </p>
    </Empty>
  );
}

function One({ cluster }: { cluster: TopicCluster }) {
  const [params, change] = useParams();
  const found = useQuery(topicsQuery(cluster.name));
  const text = params.get("q") ?? "";
  const all = params.get("internal") === "1";
  const topics = found.data?.topics ?? [];
  const own = topics.filter((one) => all || !one.isInternal);
  const shown = own.filter((one) => one.name.toLowerCase().includes(text.toLowerCase()));
  const internal = topics.filter((one) => one.isInternal).length;
  return (
    <section className="section">
      <header className="page-head">
        <h2>
          {cluster.name} <small>Kafka · {cluster.servers}</small>
        </h2>
        <div className="tools">
          <Filter label="Filter by name" value={text} change={(q) => change({ q }, true)} />
          {internal > 0 && (
            <button
              type="button"
              aria-pressed={all}
              onClick={() => change({ internal: all ? null : "1" }, true)}
            >
              {internal} internal
            </button>
          )}
        </div>
      </header>
      {found.isLoading && <Waiting what="topics" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data?.problem && (
        <p className="failure" role="alert">
          ✕ {found.data.problem}
        </p>
      )}
      {found.data && shown.length === 0 && (
        <p className="sub">{text ? "No topic matches." : "No topics yet."}</p>
      )}
      {shown.length > 0 && <Table cluster={cluster} topics={shown} />}
    </section>
  );
}

function Table({ cluster, topics }: { cluster: TopicCluster; topics: Topic[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th>Topic</th>
          <th className="number">Partitions</th>
          <th className="number">Offsets</th>
          <th>Schemas</th>
          <th>
            <span className="hidden">Graph</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {topics.map((topic) => (
          <tr key={topic.name}>
            <td className="wide">
              <Link href={topicLink(cluster.name, topic.name)} className="with-icon">
                <Icon name="topic" />
                {topic.name}
              </Link>
            </td>
            <td className="number">{topic.partitions}</td>
            <td className="number" title={topic.messages.toLocaleString("en")}>
              {short(topic.messages)}
            </td>
            <td>
              {topic.subjects.length === 0 && <span className="sub">none</span>}
              {topic.subjects.map((one) => (
                <span key={one.name} className="subject">
                  {one.name} <small>{count(one.versions)}</small>
                </span>
              ))}
            </td>
            <td>{topic.nodeId && <Link href={lineageLink(topic.nodeId)}>graph</Link>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function count(versions: number | null): string {
  if (versions === null) return "";
  return versions === 1 ? "1 version" : `${versions} versions`;
}
