// The last messages of a topic, or those from an offset on, decoded: as a table where they are records, each to be read whole.
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Fragment, useState } from "react";
import { Link } from "wouter";
import type { Message, MessagePart } from "../../api/types";
import { Failure, Waiting } from "../../components/Told";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { Section } from "../lineage/PanelParts";
import { reachedLink } from "../records/reached";
import { cell, columnsOf, fieldOf, isRecord, text } from "./cells";
import { type From, messagesQuery } from "./topics";

const COUNTS = [10, 25, 100];

interface Shown {
  cluster: string;
  topic: string;
  node: string | null; // of the topic in the graph
  from: From | null;
  /** Shows the latest messages, or those from an offset on. */
  go: (from: From | null) => void;
}

export function Messages({ cluster, topic, node, from, go }: Shown) {
  const [limit, setLimit] = useState(COUNTS[0] ?? 10);
  const found = useQuery({
    ...messagesQuery(cluster, topic, limit, from),
    placeholderData: keepPreviousData,
  });
  return (
    <Section
      title={
        from
          ? `Messages of partition ${from.partition}, starting at offset ${from.offset}`
          : "Latest messages, newest first"
      }
    >
      <div className="tools">
        <select
          aria-label="Number of messages"
          value={limit}
          onChange={(event) => setLimit(Number(event.target.value))}
        >
          {COUNTS.map((one) => (
            <option key={one} value={one}>
              {from ? `${one} messages` : `${one} of each partition`}
            </option>
          ))}
        </select>
        <button type="button" disabled={found.isFetching} onClick={() => void found.refetch()}>
          {found.isFetching ? "Reading …" : "Read again"}
        </button>
        {from && (
          <>
            <button
              type="button"
              disabled={from.offset === 0}
              onClick={() => go({ ...from, offset: Math.max(0, from.offset - limit) })}
            >
              ← Earlier
            </button>
            <button type="button" onClick={() => go({ ...from, offset: from.offset + limit })}>
              Later →
            </button>
            <button type="button" onClick={() => go(null)}>
              Latest messages
            </button>
          </>
        )}
      </div>
      {found.isLoading && <Waiting what="messages" />}
      {found.error && <Failure error={found.error} />}
      {found.data?.messages.length === 0 && (
        <p className="sub">
          {from
            ? "No messages at these offsets: they were removed, or have not been written yet."
            : "This topic has no messages."}
        </p>
      )}
      {found.data && found.data.messages.length > 0 && (
        <Table
          key={from ? `${from.partition}/${from.offset}` : ""}
          messages={from ? inOrder(found.data.messages) : found.data.messages}
          node={node}
          first={from ? `${from.partition}/${from.offset}` : null}
        />
      )}
    </Section>
  );
}

const inOrder = (messages: Message[]) => messages.toSorted((a, b) => a.offset - b.offset);

interface TableProps {
  messages: Message[];
  node: string | null;
  /** The message that is open at first. */
  first: string | null;
}

function Table({ messages, node, first }: TableProps) {
  const now = useNow();
  const [open, setOpen] = useState(first);
  const columns = columnsOf(messages);
  const hasKeys = messages.some((one) => one.key);
  const width = 2 + (hasKeys ? 1 : 0) + Math.max(1, columns.length);
  return (
    <div className="scrolled">
      <table className="messages">
        <thead>
          <tr>
            <th>Position</th>
            <th>When</th>
            {hasKeys && <th>Key</th>}
            {columns.length > 0 ? columns.map((one) => <th key={one}>{one}</th>) : <th>Value</th>}
          </tr>
        </thead>
        <tbody>
          {messages.map((one) => {
            const place = `${one.partition}/${one.offset}`;
            const isOpen = open === place;
            return (
              <Fragment key={place}>
                <tr aria-current={isOpen || undefined}>
                  <td>
                    <button
                      type="button"
                      className="plain"
                      aria-expanded={isOpen}
                      title={`Partition ${one.partition}, offset ${one.offset}`}
                      onClick={() => setOpen(isOpen ? null : place)}
                    >
                      {place}
                    </button>
                  </td>
                  <td title={moment(one.at)}>{ago(one.at, now)}</td>
                  {hasKeys && <Cell value={one.key?.value} kind="key" />}
                  <Value part={one.value} columns={columns} />
                </tr>
                {isOpen && (
                  <tr>
                    <td colSpan={width}>
                      <Whole message={one} node={node} />
                    </td>
                  </tr>
                )}
              </Fragment>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Value({ part, columns }: { part: MessagePart | null; columns: string[] }) {
  if (part && isRecord(part.value)) {
    return columns.map((name) => <Cell key={name} value={fieldOf(part.value, name)} />);
  }
  return (
    <td colSpan={Math.max(1, columns.length)} className="cell">
      {!part && <span className="sub">deleted (tombstone)</span>}
      {part && (isHidden(part) ? <span className="sub">{HIDDEN}</span> : cell(part.value))}
    </td>
  );
}

const HIDDEN = "not shown: it cannot be decoded and may contain a secret";
const isHidden = (part: MessagePart) => part.value === null && part.format === "hex";

function Cell({ value, kind = "" }: { value: unknown; kind?: string }) {
  const told = cell(value);
  return (
    <td className={`cell ${kind}`} title={told}>
      {told}
    </td>
  );
}

function Whole({ message, node }: { message: Message; node: string | null }) {
  return (
    <div className="whole">
      <p className="sub">
        partition {message.partition}, offset {message.offset}, {moment(message.at)}
        {node && (
          <>
            {" · "}
            <Link
              href={reachedLink(node, {
                partition: message.partition,
                offsets: String(message.offset),
              })}
            >
              What did this reach?
            </Link>
          </>
        )}
      </p>
      {message.key && <Read title="Key" part={message.key} />}
      {message.value && <Read title="Value" part={message.value} />}
      {Object.keys(message.headers).length > 0 && (
        <>
          <h3>Headers</h3>
          <pre>{text(message.headers)}</pre>
        </>
      )}
    </div>
  );
}

function Read({ title, part }: { title: string; part: MessagePart }) {
  return (
    <>
      <h3>
        {title}{" "}
        <small>
          {part.format}
          {part.schemaId !== null && `, schema ${part.schemaId}`}, {part.size} bytes
          {part.isCut && ", truncated"}
        </small>
      </h3>
      {part.note && <p className="failure">{part.note}</p>}
      {isHidden(part) ? <p className="sub">{HIDDEN}</p> : <pre>{text(part.value)}</pre>}
    </>
  );
}
