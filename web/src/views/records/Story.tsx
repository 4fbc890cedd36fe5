// The steps of a story: what was read, by which run, how columns were computed, what was written.
import { useQuery } from "@tanstack/react-query";
import { Fragment, type ReactNode } from "react";
import { Link } from "wouter";
import { lineageLink, runLink } from "../../api/names";
import { formulasQuery } from "../../api/queries";
import { Icon } from "../../components/Icon";
import { StateBadge } from "../../components/StateBadge";
import { Failure, Waiting } from "../../components/Told";
import { type Formulas, formulasOf } from "../../graph/formulas";
import { kindOf } from "../../graph/kinds";
import { stateOf } from "../../graph/state";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { PeekLink } from "../pipelines/PeekLink";
import { type Range, rangesOf, type Step, type VersionRead, type Write, whyLink } from "./why";

const FEW = 6; // partitions or runs that are listed at once

/** One part of the story; parts are joined by a line. */
export function Chapter({
  sign,
  title,
  children,
}: {
  sign: ReactNode;
  title: ReactNode;
  children: ReactNode;
}) {
  return (
    <li className="chapter">
      <span className="sign" aria-hidden="true">
        {sign}
      </span>
      <div className="scene">
        <h2>{title}</h2>
        {children}
      </div>
    </li>
  );
}

export function StepChapter({ step, number }: { step: Step; number: number }) {
  const { write } = step;
  return (
    <Chapter sign={number} title={`${write.name} wrote ${shortOf(write.output.name)}`}>
      <dl className="facts">
        <dt>Read</dt>
        <dd>
          {step.inputs.length === 0 && <span className="sub">no inputs reported</span>}
          {step.inputs.map((input) => (
            <Input key={input.nodeId} input={input} step={step} />
          ))}
        </dd>
        <dt>Run</dt>
        <dd>
          <Runs step={step} />
        </dd>
        <dt>Columns</dt>
        <dd>
          <Columns write={write} />
        </dd>
        <dt>Wrote</dt>
        <dd>
          <Place version={write.output}>
            <SnapshotLink version={write.output} />
          </Place>
        </dd>
      </dl>
    </Chapter>
  );
}

const shortOf = (name: string) => name.split("/").slice(-2).join("/");

function Place({ version, children }: { version: VersionRead; children?: ReactNode }) {
  return (
    <div>
      <Link href={lineageLink(version.nodeId)} className="with-icon">
        <Icon name={kindOf(version.namespace, version.name)} />
        {version.name}
      </Link>
      {children}
    </div>
  );
}

function SnapshotLink({ version: { nodeId, snapshot } }: { version: VersionRead }) {
  if (!snapshot) return null;
  return (
    <small>
      <Link href={whyLink(nodeId, snapshot)}>snapshot {snapshot}</Link>
    </small>
  );
}

function Input({ input, step }: { input: VersionRead; step: Step }) {
  const ranges = rangesOf(step, input);
  const row = (range: Range) => <Partition key={range.partition} {...{ range, input }} />;
  return (
    <Place version={input}>
      <SnapshotLink version={input} />
      {ranges.slice(0, FEW).map(row)}
      {ranges.length > FEW && (
        <details>
          <summary>{ranges.length - FEW} more partitions</summary>
          {ranges.slice(FEW).map(row)}
        </details>
      )}
    </Place>
  );
}

function Partition({ range, input }: { range: Range; input: VersionRead }) {
  const { partition, text, first, count, link } = range;
  return (
    <small className="partition">
      <span>
        partition {partition}, {count === 1 ? "offset" : "offsets"} {text}
        {count !== null && count > 1 && ` (${count.toLocaleString("en")} records)`}
      </span>
      <PeekLink node={input.nodeId} partition={partition} offset={first}>
        Messages
      </PeekLink>
      {link && <Link href={link}>What they reached</Link>}
    </small>
  );
}

function Runs({ step: { write, runs, isExact, reasons } }: { step: Step }) {
  const others = runs.filter((one) => one !== write);
  return (
    <>
      <RunLine write={write} />
      <small>
        <strong>{isExact ? "exact" : "superset"}</strong>
        {reasons.length > 0 && `: ${reasons.join("; ")}`}
      </small>
      {others.length > 0 && (
        <details>
          <summary>
            {others.length} earlier {others.length === 1 ? "run" : "runs"}
          </summary>
          {others.map((one) => (
            <RunLine key={one.runId ?? one.at} write={one} />
          ))}
        </details>
      )}
    </>
  );
}

function RunLine({ write }: { write: Write }) {
  const now = useNow();
  return (
    <div className="run-line">
      <Link href={lineageLink(write.nodeId)}>{write.name}</Link>
      {write.runId && (
        <Link href={runLink(write.runId)} title={`Run ${write.runId}`}>
          <StateBadge state={stateOf(write.state ?? null)} />
        </Link>
      )}
      {write.batch != null && <span>batch {write.batch}</span>}
      {write.at && <span title={moment(write.at)}>{ago(write.at, now)}</span>}
    </div>
  );
}

/** How the columns were computed when the run wrote them. */
function Columns({ write }: { write: Write }) {
  const found = useQuery(formulasQuery(write.output.nodeId, write.at ?? null));
  if (found.isLoading) return <Waiting what="columns" />;
  if (found.error) return <Failure error={found.error} />;
  const formulas = formulasOf(found.data ?? { graph: [] }, write.output, write);
  if (formulas.computed.length + formulas.copied.length === 0) {
    return <span className="sub">No event reports how the columns are computed.</span>;
  }
  return <FormulaList formulas={formulas} />;
}

function FormulaList({ formulas: { computed, copied, indirect } }: { formulas: Formulas }) {
  return (
    <>
      {computed.map(({ column, formula, from }) => (
        <div key={column} className="made">
          <code>
            {column} = {formula ?? from.join(", ")}
          </code>
          {formula && <small>from {from.join(", ")}</small>}
        </div>
      ))}
      {copied.length > 0 && (
        <small>
          copied: <code>{copied.join(", ")}</code>
        </small>
      )}
      {indirect.length > 0 && (
        <small>
          rows determined by{" "}
          {indirect.map(({ word, columns }, number) => (
            <Fragment key={word}>
              {number > 0 && "; "}
              {word} <code>{columns.join(", ")}</code>
            </Fragment>
          ))}
        </small>
      )}
    </>
  );
}
