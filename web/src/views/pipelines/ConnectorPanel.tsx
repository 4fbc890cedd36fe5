// One connector: its state, its tasks with their traces, its configuration, what can be done.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { Confirm } from "../../components/Confirm";
import { Icon } from "../../components/Icon";
import { Failure, Waiting } from "../../components/Told";
import { Section } from "../lineage/PanelParts";
import { act, connectorsQuery, type Deed, type TaskStatus } from "./api";
import { Editor } from "./Editor";
import { ConnectorState } from "./states";

interface Props {
  cluster: string;
  name: string;
  close: () => void;
}

/** What may be done in a state, and what to ask before it is. */
const DEEDS: [Deed, string, string][] = [
  ["pause", "Pause", ""],
  ["resume", "Resume", ""],
  ["restart", "Restart", "Its tasks stop and start again. Offsets are kept."],
  ["stop", "Stop", "Its tasks stop. Configuration and offsets are kept."],
  ["delete", "Delete", "Its configuration is deleted. The data it wrote is kept."],
];

export function ConnectorPanel({ cluster, name, close }: Props) {
  const client = useQueryClient();
  const found = useQuery(connectorsQuery(cluster));
  const [asked, setAsked] = useState<(typeof DEEDS)[number] | null>(null);
  const [isEdited, setEdited] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const connector = found.data?.[name];
  const perform = async (deed: Deed) => {
    setAsked(null);
    setError(null);
    try {
      await act(cluster, name, deed);
      if (deed === "delete") close();
    } catch (problem) {
      setError(problem as Error);
    }
    await client.invalidateQueries({ queryKey: ["connectors", cluster] });
  };
  const state = connector?.status.connector.state ?? "";
  return (
    <aside className="panel" aria-label={`Connector ${name}`}>
      <button type="button" className="close" aria-label="Close details" onClick={close}>
        <Icon name="close" />
      </button>
      <h2>{name}</h2>
      {!connector &&
        (found.data ? <p>This connector no longer exists.</p> : <Waiting what="the connector" />)}
      {error && <Failure error={error} />}
      {connector && (
        <>
          <p className="state-line">
            <ConnectorState state={state} />
            <small> on {connector.status.connector.worker_id}</small>
          </p>
          <p className="deeds">
            {DEEDS.filter(([deed]) => fits(deed, state)).map((one) => (
              <button
                key={one[0]}
                type="button"
                className={one[0] === "delete" ? "danger" : ""}
                onClick={() => (one[2] ? setAsked(one) : void perform(one[0]))}
              >
                {one[1]}
              </button>
            ))}
            <button type="button" onClick={() => setEdited(true)}>
              Edit …
            </button>
            <Link href={`/jobs?q=${encodeURIComponent(name)}`}>Its job</Link>
          </p>
          {connector.status.connector.trace && (
            <Trace title="Why it failed" trace={connector.status.connector.trace} />
          )}
          <Tasks tasks={connector.status.tasks} />
          <Section title="Configuration">
            <dl className="config">
              {Object.entries(connector.info.config).map(([key, value]) => (
                <div key={key}>
                  <dt>{key}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
          </Section>
        </>
      )}
      {asked && (
        <Confirm
          title={`${asked[1]} ${name}?`}
          text={asked[2]}
          verb={asked[1]}
          isDangerous={asked[0] === "delete"}
          yes={() => void perform(asked[0])}
          no={() => setAsked(null)}
        />
      )}
      {isEdited && connector && (
        <Editor
          cluster={cluster}
          name={name}
          config={connector.info.config}
          close={() => setEdited(false)}
        />
      )}
    </aside>
  );
}

function fits(deed: Deed, state: string): boolean {
  if (deed === "pause") return state === "RUNNING";
  if (deed === "resume") return state === "PAUSED" || state === "STOPPED";
  if (deed === "stop") return state !== "STOPPED";
  return deed === "delete" || state !== "STOPPED";
}

function Tasks({ tasks }: { tasks: TaskStatus[] }) {
  if (tasks.length === 0) return null;
  return (
    <Section title="Tasks">
      <ul className="links">
        {tasks.map((task) => (
          <li key={task.id}>
            {task.id} <ConnectorState state={task.state} />
            <small>{task.worker_id}</small>
            {task.trace && <Trace title={`Task ${task.id}`} trace={task.trace} />}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The first line says what happened; the rest where. */
function Trace({ title, trace }: { title: string; trace: string }) {
  const [first = "", ...rest] = trace.split("\n");
  return (
    <div className="told-trace">
      <h3>{title}</h3>
      <pre className="trace">{first}</pre>
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more lines</summary>
          <pre>{rest.join("\n")}</pre>
        </details>
      )}
    </div>
  );
}
