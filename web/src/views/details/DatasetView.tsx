// A dataset: columns, versions with what changed, who writes and reads it, quality.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { datasetId, fieldId, jobLink, lineageLink, runLink } from "../../api/names";
import { datasetQuery, lineageQuery, versionsQuery } from "../../api/queries";
import type { Dataset, DatasetVersion, Facets, Lineage } from "../../api/types";
import { ColumnType } from "../../components/ColumnType";
import { FieldChanges } from "../../components/FieldChanges";
import { Icon } from "../../components/Icon";
import { Markdown } from "../../components/Markdown";
import { StateBadge } from "../../components/StateBadge";
import { Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { WrappedName } from "../../components/WrappedName";
import { KIND_WORD, kindOf } from "../../graph/kinds";
import { record } from "../../graph/state";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { Level, Owners, Section, Tags } from "../lineage/PanelParts";
import { reachedLink } from "../records/reached";
import { whyLink } from "../records/why";
import { useParams } from "../tables/parts";
import { Snapshots } from "./Snapshots";

export function DatasetView() {
  const [params] = useParams();
  const name = { namespace: params.get("namespace") ?? "", name: params.get("name") ?? "" };
  useTitle(name.name);
  const dataset = useQuery(datasetQuery(name));
  const versions = useQuery(versionsQuery(name));
  const near = useQuery(lineageQuery(datasetId(name), 1, null));
  if (dataset.error) return <Failure error={dataset.error} again={() => void dataset.refetch()} />;
  if (!dataset.data) return <Waiting what="the dataset" />;
  return (
    <div className="page">
      <Head dataset={dataset.data} />
      <Level value="h2">
        <div className="columns-2">
          <div>
            <Columns dataset={dataset.data} />
            {versions.data && <Versions versions={versions.data.versions} />}
          </div>
          <div>
            {near.data && <Neighbours id={datasetId(name)} lineage={near.data} />}
            <Snapshots name={dataset.data} />
            <Aliases facets={dataset.data.facets} />
            <Owners facets={dataset.data.facets} />
            <Checks facets={dataset.data.facets} />
            <Quality facets={dataset.data.facets} />
          </div>
        </div>
      </Level>
    </div>
  );
}

function Head({ dataset }: { dataset: Dataset }) {
  const now = useNow();
  const kind = kindOf(dataset.namespace, dataset.name);
  const id = datasetId(dataset);
  return (
    <header className="detail-head">
      <h1>
        <Icon name={kind} /> <WrappedName name={dataset.name} />
      </h1>
      <p className="sub">
        {KIND_WORD[kind]} · {dataset.namespace} · last reported {ago(dataset.updatedAt, now)}
      </p>
      {dataset.description && <Markdown text={dataset.description} />}
      <Tags tags={dataset.tags} />
      <p className="deeds">
        <Link href={lineageLink(id)}>Show in the graph</Link>
        <Link href={`/impact?node=${encodeURIComponent(id)}`}>Impact</Link>
        {kind === "topic" && <Link href={reachedLink(id)}>Trace records</Link>}
        {kind === "table" && <Link href={whyLink(id)}>Trace a row</Link>}
      </p>
    </header>
  );
}

function Columns({ dataset }: { dataset: Dataset }) {
  if (dataset.fields.length === 0) return null;
  return (
    <Section title={`Columns (${dataset.fields.length})`}>
      <table>
        <thead>
          <tr>
            <th>Column</th>
            <th>Type</th>
            <th>Description</th>
            <th>
              <span className="hidden">Impact</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {dataset.fields.map((field) => {
            const id = fieldId(dataset, field.name);
            return (
              <tr key={field.name}>
                <td>
                  <Link href={lineageLink(datasetId(dataset), id)}>{field.name}</Link>
                </td>
                <td>
                  <ColumnType field={field} />
                </td>
                <td>
                  {field.description} <Tags tags={field.tags} />
                </td>
                <td>
                  <Link href={`/impact?node=${encodeURIComponent(id)}`}>impact</Link>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Section>
  );
}

function Versions({ versions }: { versions: DatasetVersion[] }) {
  const now = useNow();
  if (versions.length === 0) return null;
  return (
    <Section title="Versions, latest first">
      <ol className="versions">
        {versions.slice(0, 20).map((version, number) => {
          const before = versions[number + 1];
          return (
            <li key={version.version}>
              <span title={moment(version.createdAt)}>{ago(version.createdAt, now)}</span>{" "}
              {version.createdByRun && (
                <Link href={runLink(version.createdByRun.id)}>by a run</Link>
              )}
              {before && <FieldChanges before={before.fields} after={version.fields} />}
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

function Neighbours({ id, lineage }: { id: string; lineage: Lineage }) {
  const own = lineage.graph.find((node) => node.id === id);
  const jobs = new Map(lineage.graph.map((node) => [node.id, node.data.id]));
  const list = (title: string, ids: string[]) =>
    ids.length > 0 && (
      <Section title={title}>
        <ul className="links">
          {ids.map((one) => {
            const name = jobs.get(one);
            return name && <li key={one}>{<Link href={jobLink(name)}>{name.name}</Link>}</li>;
          })}
        </ul>
      </Section>
    );
  return (
    <>
      {list("Written by", own?.inEdges.map((edge) => edge.origin) ?? [])}
      {list("Read by", own?.outEdges.map((edge) => edge.destination) ?? [])}
    </>
  );
}

function Aliases({ facets }: { facets: Facets }) {
  const told = record(facets.symlinks).identifiers;
  const names = Array.isArray(told) ? told.map(record) : [];
  if (names.length === 0) return null;
  return (
    <Section title="Also known as">
      <ul className="links">
        {names.map((name) => (
          <li key={`${name.namespace}${name.name}`}>
            {String(name.name)} <small>{String(name.namespace)}</small>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** The last result of each check, failed ones first. */
function Checks({ facets }: { facets: Facets }) {
  const told = record(facets.dataQualityAssertions).assertions;
  const checks = Array.isArray(told) ? told.map(record) : [];
  if (checks.length === 0) return null;
  const failed = checks.filter((check) => check.success === false).length;
  return (
    <Section title={failed > 0 ? `Checks (${failed} of ${checks.length} failed)` : "Checks"}>
      <ul className="links checks">
        {checks.map((check, number) => (
          <li key={number}>
            <StateBadge state={check.success === false ? "failed" : "completed"} />{" "}
            {String(check.assertion)} {check.column ? <small>{String(check.column)}</small> : null}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const QUALITY = ["dataQualityMetrics", "outputStatistics"];

function Quality({ facets }: { facets: Facets }) {
  const told = QUALITY.filter((name) => facets[name]);
  if (told.length === 0) return null;
  return (
    <Section title="Quality">
      {told.map((name) => (
        <pre key={name}>{JSON.stringify(facets[name], null, 2)}</pre>
      ))}
    </Section>
  );
}
