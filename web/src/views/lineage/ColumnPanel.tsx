// The path of a column in words: where it comes from, what it feeds, and what happened between.
import { Link } from "wouter";
import { jobId } from "../../api/names";
import { Icon } from "../../components/Icon";
import { Empty, Waiting } from "../../components/Told";
import { type ColumnEdge, formulaOf } from "../../graph/columns";
import { IsolateButton, Section } from "./PanelParts";
import { useView } from "./state";
import type { Scene } from "./useScene";

export function ColumnPanel({ scene }: { scene: Scene }) {
  const { state, change } = useView();
  const { columns, lit } = scene;
  const column = state.column;
  if (!column) return null;
  if (!columns || !lit) return scene.error ? null : <Waiting what="the column's path" />;
  const own = columns.columns.get(column);
  const indirect = columns.edges.filter((edge) => edge.deed === "indirect").length;
  const distance = (id: string) => lit.columns.get(id) ?? 0;
  const order = (a: ColumnEdge, b: ColumnEdge) =>
    Math.abs(distance(a.from)) - Math.abs(distance(b.from)) || a.from.localeCompare(b.from);
  const up = lit.edges.filter((edge) => distance(edge.from) < 0).sort(order);
  const down = lit.edges.filter((edge) => distance(edge.to) > 0).sort(order);
  return (
    <>
      <h2>
        <Icon name="column" />
        {own?.field ?? column.slice(column.lastIndexOf(":") + 1)}
      </h2>
      <p className="sub">
        column of {own?.datasetName ?? "a dataset"} {own?.type && <>· {own.type}</>}
      </p>
      <p className="deeds">
        <IsolateButton />
        <Link href={`/impact?node=${encodeURIComponent(column)}`}>Impact</Link>
      </p>
      {lit.edges.length === 0 && (
        <Empty title="No direct path is known">
          <p>No event reports which columns this one comes from, or which it feeds.</p>
        </Empty>
      )}
      <Steps title="Comes from" edges={up} end="from" scene={scene} />
      <Steps title="Feeds" edges={down} end="to" scene={scene} />
      {indirect > 0 && (
        <p>
          <button
            type="button"
            aria-pressed={state.indirect}
            onClick={() => change({ indirect: !state.indirect }, "replace")}
          >
            {state.indirect ? "Hide" : "Show"} {indirect} indirect{" "}
            {indirect === 1 ? "influence" : "influences"}
          </button>
        </p>
      )}
    </>
  );
}

interface StepsProps {
  title: string;
  edges: ColumnEdge[];
  end: "from" | "to";
  scene: Scene;
}

function Steps({ title, edges, end, scene }: StepsProps) {
  const { change } = useView();
  if (edges.length === 0) return null;
  return (
    <Section title={title}>
      <ol className="steps">
        {edges.map((edge) => {
          const column = scene.columns?.columns.get(edge[end]);
          const other = scene.columns?.columns.get(edge[end === "from" ? "to" : "from"]);
          const target = scene.columns?.columns.get(edge.to);
          const formula = formulaOf(edge, target?.field ?? "");
          return (
            <li key={`${edge.from}\n${edge.to}`} className={edge.deed}>
              <span className="sign" aria-hidden="true">
                {edge.sign}
              </span>
              <div>
                <button
                  type="button"
                  className="plain"
                  onClick={() => column && change({ column: column.id })}
                >
                  {column?.datasetName}.<strong>{column?.field}</strong>
                </button>
                <small>
                  {edge.word} {end === "from" ? "into" : "of"} {other?.field}
                  {edge.jobName && <JobName edge={edge} />}
                </small>
                {formula && <code className="formula">{formula}</code>}
              </div>
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

function JobName({ edge }: { edge: ColumnEdge }) {
  const { change } = useView();
  const { jobName } = edge;
  if (!jobName) return null;
  return (
    <>
      {" "}
      by{" "}
      <button
        type="button"
        className="plain"
        onClick={() => change({ selected: jobId(jobName) })}
        title="The job, with its SQL or plan"
      >
        {jobName.name}
      </button>
    </>
  );
}
