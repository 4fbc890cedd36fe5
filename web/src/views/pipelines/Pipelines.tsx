// Workers and Kafka Connect clusters: what runs on them, and what can be done about it.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { jobId, jobLink } from "../../api/names";
import type { ConnectCluster, Job } from "../../api/types";
import { Icon } from "../../components/Icon";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { short } from "../../graph/words";
import { usePulse } from "../../live/pulses";
import { useParams } from "../tables/parts";
import { type Connector, clustersQuery, connectorsQuery, useJobs } from "./api";
import { ConnectorPanel } from "./ConnectorPanel";
import { Editor } from "./Editor";
import { ConnectorState } from "./states";
import { Tabs } from "./Tabs";

export function Pipelines() {
  useTitle("Pipelines");
  const clusters = useQuery(clustersQuery);
  const [params, change] = useParams();
  const [edited, setEdited] = useState<string | null>(null);
  const chosen = params.get("connector");
  const open = params.get("cluster");
  if (clusters.error) return <Failure error={clusters.error} />;
  if (!clusters.data) return <Waiting what="pipelines" />;
  return (
    <div className="pipelines">
      <div className="page">
        <Tabs />
        {clusters.data.length === 0 && <Teach />}
        {clusters.data.map((cluster) => (
          <One
            key={cluster.name}
            cluster={cluster}
            chosen={open === cluster.name ? chosen : null}
            choose={(connector) => change({ cluster: cluster.name, connector })}
            deploy={() => setEdited(cluster.name)}
          />
        ))}
      </div>
      {open && chosen && (
        <ConnectorPanel
          key={`${open}/${chosen}`}
          cluster={open}
          name={chosen}
          close={() => change({ cluster: null, connector: null })}
        />
      )}
      {edited && <Editor cluster={edited} close={() => setEdited(null)} />}
    </div>
  );
}

function Teach() {
  return (
    <Empty title="No pipelines">
      <p>
        Start the server with the addresses of workers and Kafka Connect clusters, to monitor,
        deploy, pause and restart their connectors here:
      </p>
      <pre>headwater server --connect lab=http://127.0.0.1:8083</pre>
      <p>
        <code>headwater worker</code> runs connectors on Spark and has the same API.
      </p>
    </Empty>
  );
}

interface OneProps {
  cluster: ConnectCluster;
  chosen: string | null;
  choose: (connector: string) => void;
  deploy: () => void;
}

function One({ cluster, chosen, choose, deploy }: OneProps) {
  const found = useQuery({ ...connectorsQuery(cluster.name), enabled: cluster.reachable });
  const connectors = Object.entries(found.data ?? {}).sort(([a], [b]) => a.localeCompare(b));
  const jobs = useJobs(connectors.map(([name]) => name));
  return (
    <section className="section">
      <header className="page-head">
        <h2>
          {cluster.name}{" "}
          <small>
            {cluster.kind === "headwater" ? "Headwater worker" : "Kafka Connect"} {cluster.version}{" "}
            · {cluster.url}
          </small>
        </h2>
        <button type="button" onClick={deploy} disabled={!cluster.reachable}>
          Deploy …
        </button>
      </header>
      {!cluster.reachable && (
        <p className="failure" role="alert">
          ✕ does not answer. Check that it is running at {cluster.url}. The page retries.
        </p>
      )}
      {found.error && cluster.reachable && <Failure error={found.error} />}
      {found.isLoading && cluster.reachable && <Waiting what="connectors" />}
      {found.data && connectors.length === 0 && (
        <p className="sub">No connectors yet. Deploy one from its JSON file.</p>
      )}
      {connectors.length > 0 && (
        <table>
          <thead>
            <tr>
              <th>Connector</th>
              <th>State</th>
              <th>Tasks</th>
              <th>Rate</th>
              <th>Lag</th>
              <th>Class</th>
            </tr>
          </thead>
          <tbody>
            {connectors.map(([name, connector]) => (
              <Row
                key={name}
                name={name}
                connector={connector}
                job={jobs.get(name)}
                isChosen={name === chosen}
                choose={() => choose(name)}
              />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

interface RowProps {
  name: string;
  connector: Connector;
  job: Job | undefined;
  isChosen: boolean;
  choose: () => void;
}

function Row({ name, connector, job, isChosen, choose }: RowProps) {
  const { info, status } = connector;
  const className = info.config["connector.class"] ?? "";
  // A worker's jobs speak as connectors do, and have to be sources or sinks there.
  const isJob = className === "job";
  return (
    <tr aria-current={isChosen || undefined}>
      <td className="wide">
        <button type="button" className="plain with-icon" onClick={choose}>
          <Icon name={info.type === "sink" ? "objects" : "stream"} />
          {name}
        </button>
        <small>{isJob ? "job" : info.type}</small>
      </td>
      <td>
        <ConnectorState state={status.connector.state} />
      </td>
      <td>
        {status.tasks.map((task) => (
          <ConnectorState key={task.id} state={task.state} isShort />
        ))}
      </td>
      {job ? <Flow job={job} /> : <NoFlow />}
      <td className="wide">
        <span className="sub">{isJob ? (info.config["job.name"] ?? "") : className}</span>
      </td>
    </tr>
  );
}

/** What lineage tells of a connector: how fast it goes, and how far behind it is. */
function Flow({ job }: { job: Job }) {
  const { rate, lagRows, state } = usePulse(jobId(job), job);
  const isRunning = state === "running";
  return (
    <>
      <td>
        <Link href={jobLink(job)} aria-label={`The job ${job.name}`}>
          {isRunning && rate !== null ? `${short(rate)}/s` : "–"}
        </Link>
      </td>
      <td>{isRunning && lagRows !== null ? `${short(lagRows)} rows` : "–"}</td>
    </>
  );
}

function NoFlow() {
  return (
    <>
      <td>–</td>
      <td>–</td>
    </>
  );
}
