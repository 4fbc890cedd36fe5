// Parts that panels and detail views share.
import { createContext, type ReactNode, useContext } from "react";
import { Link } from "wouter";
import { datasetId, lineageLink } from "../../api/names";
import type { Facets, Name } from "../../api/types";
import { record } from "../../graph/state";
import { useView } from "./state";

/** How deep the headings of sections are: beneath a panel's, or right beneath the page's. */
export const Level = createContext<"h2" | "h3">("h3");

export function Section({ title, children }: { title: string; children: ReactNode }) {
  const Heading = useContext(Level);
  return (
    <section className="section">
      <Heading className="section-title">{title}</Heading>
      {children}
    </section>
  );
}

export function Datasets({ title, names }: { title: string; names: readonly Name[] }) {
  if (names.length === 0) return null;
  return (
    <Section title={title}>
      <ul className="links">
        {names.map((name) => (
          <li key={datasetId(name)}>
            <Link href={lineageLink(datasetId(name))}>{name.name}</Link>
            <small>{name.namespace}</small>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Who owns a thing, as its facets say. */
export function Owners({ facets }: { facets: Facets }) {
  const told = record(facets.ownership).owners;
  const owners = Array.isArray(told) ? told.map(record) : [];
  if (owners.length === 0) return null;
  return (
    <Section title="Owners">
      <ul className="links">
        {owners.map((owner) => (
          <li key={String(owner.name)}>
            {String(owner.name)} {owner.type ? <small>{String(owner.type)}</small> : null}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Tags({ tags }: { tags: readonly string[] }) {
  if (tags.length === 0) return null;
  return (
    <p className="tags">
      {tags.map((tag) => (
        <span key={tag} className="tag">
          {tag}
        </span>
      ))}
    </p>
  );
}

/** The SQL or the plan of a job. */
export function Source({ facets }: { facets: Facets }) {
  const sql = record(facets.sql).query;
  const code = record(facets.sourceCode).sourceCode;
  const text = typeof sql === "string" ? sql : typeof code === "string" ? code : null;
  if (!text) return null;
  return (
    <Section title={typeof sql === "string" ? "SQL" : "Source"}>
      <pre className="source">{text}</pre>
    </Section>
  );
}

/** Shows only what is lit, or everything again. */
export function IsolateButton() {
  const { state, change } = useView();
  return (
    <button
      type="button"
      aria-pressed={state.isolate}
      onClick={() => change({ isolate: !state.isolate })}
    >
      Isolate path
    </button>
  );
}
