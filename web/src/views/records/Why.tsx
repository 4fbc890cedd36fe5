// A row traced as a story: from the messages through runs and snapshots to the table.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { get } from "../../api/client";
import { datasetLink } from "../../api/names";
import { datasetQuery, snapshotsQuery } from "../../api/queries";
import type { Dataset, Name } from "../../api/types";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { record } from "../../graph/state";
import { ago } from "../../graph/words";
import { useNow } from "../../live/now";
import { Page, useParams } from "../tables/parts";
import type { Answer } from "./answer";
import { RowAsk } from "./RowAsk";
import { MessagesChapter, RowChapter } from "./RowTold";
import { StepChapter } from "./Story";
import { type Why as Found, stepsOf, type Write } from "./why";

export function Why() {
  const [params] = useParams();
  const node = params.get("node") ?? "";
  const name = nameOf(node);
  useTitle(`Trace a row of ${name.name}`);
  if (!node) {
    return (
      <Page title="Trace a row">
        <Empty title="No table is selected">
          <p>Open a table, and choose Trace a row there.</p>
        </Empty>
      </Page>
    );
  }
  return <Table key={node} node={node} name={name} />;
}

/** The name in a node's id; names of tables hold no colons. */
function nameOf(node: string): Name {
  const rest = node.slice(node.indexOf(":") + 1);
  const colon = rest.lastIndexOf(":");
  return { namespace: rest.slice(0, colon), name: rest.slice(colon + 1) };
}

function Table({ node, name }: { node: string; name: Name }) {
  const [params, change] = useParams();
  const [answer, setAnswer] = useState<Answer | null>(null);
  const dataset = useQuery(datasetQuery(name));
  const listed = useQuery(snapshotsQuery(name));
  const asked = params.get("snapshot") ?? listed.data?.snapshots[0]?.id ?? "";
  const found = useQuery({
    queryKey: ["why", node, asked],
    enabled: asked !== "" && answer === null,
    queryFn: ({ signal }) => get<Found>("/why", { nodeId: node, snapshot: asked }, signal),
  });
  const table = tableOf(name, dataset.data);
  const isBare = listed.data?.snapshots.length === 0 && asked === "";
  return (
    <Page
      title={`Trace a row of ${answer?.table || table}`}
      tools={
        <>
          {!answer && asked && (
            <SnapshotChoice
              asked={asked}
              listed={listed.data?.snapshots ?? []}
              choose={(snapshot) => change({ snapshot })}
            />
          )}
          {answer && (
            <button type="button" onClick={() => setAnswer(null)}>
              Back to the snapshot
            </button>
          )}
          <Link href={datasetLink(name)}>Table</Link>
        </>
      }
    >
      {answer ? (
        <RowStory answer={answer} />
      ) : (
        <>
          <p className="sub">
            {asked
              ? `From the records to snapshot ${asked}, as runs reported it.`
              : "From the records to the table, as runs reported it."}
          </p>
          {(listed.isLoading || found.isLoading) && <Waiting what="the trace" />}
          {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
          {isBare && <p>No run has reported a snapshot of this table.</p>}
          <ol className="story">
            <Steps writes={found.data?.writes ?? []} />
            <RowAsk
              table={table}
              column={exampleOf(dataset.data)}
              show={(told) => setAnswer(told)}
            />
          </ol>
          {found.data?.complete === false && (
            <p className="failure">The list of steps is not complete: there are too many runs.</p>
          )}
        </>
      )}
    </Page>
  );
}

function Steps({ writes }: { writes: Write[] }) {
  return stepsOf(writes).map((step, number) => (
    <StepChapter key={step.key} step={step} number={number + 1} />
  ));
}

/** A row as the command found it, from its messages on. */
function RowStory({ answer }: { answer: Answer }) {
  const [number, setNumber] = useState(0);
  const row = answer.rows[number];
  if (!row) return null;
  const topics = new Map(
    row.writes
      .flatMap((write) => write.inputs ?? [])
      .filter((one) => one.namespace.startsWith("kafka:"))
      .map((one) => [one.name, one.nodeId]),
  );
  return (
    <>
      <p className="sub">
        Rows where <code>{answer.predicate}</code>, as the command found them.
      </p>
      {answer.rows.length > 1 && (
        <div className="tools">
          {answer.rows.map((_, one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === number}
              onClick={() => setNumber(one)}
            >
              Row {one + 1}
            </button>
          ))}
        </div>
      )}
      <ol className="story" key={number}>
        <MessagesChapter row={row} topics={topics} />
        <Steps writes={row.writes} />
        <RowChapter row={row} table={answer.table} />
      </ol>
      {answer.notes.map((note) => (
        <p key={note} className="sub">
          {note}
        </p>
      ))}
    </>
  );
}

interface Choice {
  asked: string;
  listed: { id: string; at: string }[];
  choose: (snapshot: string) => void;
}

function SnapshotChoice({ asked, listed, choose }: Choice) {
  const now = useNow();
  const isListed = listed.some((one) => one.id === asked);
  return (
    <label>
      Snapshot{" "}
      <select value={asked} onChange={({ target }) => choose(target.value)}>
        {!isListed && <option value={asked}>{asked}</option>}
        {listed.map((one) => (
          <option key={one.id} value={one.id}>
            {one.id}, {ago(one.at, now)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A column that text can be compared with. */
function exampleOf(dataset: Dataset | undefined): string {
  const fields = dataset?.fields ?? [];
  return (fields.find((field) => field.type === "string") ?? fields[0])?.name ?? "id";
}

/** What a catalog calls the table; by its folder where no event tells that. */
function tableOf({ name }: Name, dataset: Dataset | undefined): string {
  const told = record(dataset?.facets.symlinks).identifiers;
  const names = Array.isArray(told) ? told.map(record) : [];
  const table = names.find((one) => one.type === "TABLE")?.name;
  return typeof table === "string" ? table : name.split("/").slice(-2).join(".");
}
