import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { datasetLink, fieldId, jobId, lineageLink } from "../../api/names";
import { datasetQuery } from "../../api/queries";
import type { Name } from "../../api/types";
import { ColumnType } from "../../components/ColumnType";
import { Icon } from "../../components/Icon";
import { Markdown } from "../../components/Markdown";
import { Failure } from "../../components/Told";
import { WrappedName } from "../../components/WrappedName";
import { MARK_SIGN } from "../../graph/diff";
import { KIND_WORD, kindOf } from "../../graph/kinds";
import type { DatasetNode, Graph } from "../../graph/model";
import { ago } from "../../graph/words";
import { useNow } from "../../live/now";
import { whyLink } from "../records/why";
import { Owners, Section, Tags } from "./PanelParts";
import { following, useView } from "./state";
import type { Scene } from "./useScene";

export function DatasetPanel({ node, scene }: { node: DatasetNode; scene: Scene }) {
  const { state, change } = useView();
  const now = useNow();
  const { namespace, name } = node.data;
  const kind = kindOf(namespace, name);
  const dataset = useQuery(datasetQuery(node.data.id));
  const fields = (scene.isBrief && dataset.data?.fields) || node.data.fields;
  const changes = scene.marks?.fields.get(node.id) ?? [];
  return (
    <>
      <h2>
        <Icon name={kind} />
        <WrappedName name={name} />
      </h2>
      <p className="sub">
        {KIND_WORD[kind]} · {namespace}
      </p>
      {node.data.updatedAt && <p className="sub">last reported {ago(node.data.updatedAt, now)}</p>}
      {node.data.description && <Markdown text={node.data.description} />}
      <Tags tags={node.data.tags} />
      <p className="deeds">
        <button type="button" onClick={() => change({ anchors: [node.id] })}>
          Centre here
        </button>
        <Link href={datasetLink(node.data.id)}>Details</Link>
        <Link href={`/impact?node=${encodeURIComponent(node.id)}`}>Impact</Link>
        {kind === "table" && <Link href={whyLink(node.id)}>Trace a row</Link>}
        {kind === "topic" && (
          <button type="button" onClick={() => change(following(node.id))} title="R">
            Trace records
          </button>
        )}
      </p>
      {changes.length > 0 && (
        <Section title="Schema changes">
          <ul className="links">
            {changes.map((one) => (
              <li key={one.name}>
                <span className={`mark ${one.mark}`}>{MARK_SIGN[one.mark]}</span> {one.name}{" "}
                <small>
                  {one.before} {one.mark === "changed" ? "→" : ""} {one.after}
                </small>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Jobs title="Written by" names={near(scene.graph, node.id, "up")} />
      <Jobs title="Read by" names={near(scene.graph, node.id, "down")} />
      {dataset.error && <Failure error={dataset.error} />}
      <Owners facets={dataset.data?.facets ?? {}} />
      {fields.length > 0 && (
        <Section title={`Columns (${fields.length})`}>
          <ul className="columns">
            {fields.map((field) => (
              <li key={field.name}>
                <button
                  type="button"
                  aria-pressed={state.column === fieldId(node.data, field.name)}
                  onClick={() => change({ column: fieldId(node.data, field.name), selected: null })}
                >
                  <span className="name">{field.name}</span>
                  <span className="type">
                    <ColumnType field={field} />
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

function near(graph: Graph, id: string, way: "up" | "down"): Name[] {
  const ids = graph.edges
    .filter((edge) => (way === "up" ? edge.to : edge.from) === id)
    .map((edge) => (way === "up" ? edge.from : edge.to));
  return ids.map((one) => graph.nodes.get(one)?.data.id).filter((name) => name !== undefined);
}

function Jobs({ title, names }: { title: string; names: Name[] }) {
  if (names.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="links">
        {names.map((name) => (
          <li key={jobId(name)}>
            <Link href={lineageLink(jobId(name))}>{name.name}</Link>
            <small>{name.namespace}</small>
          </li>
        ))}
      </ul>
    </Section>
  );
}
