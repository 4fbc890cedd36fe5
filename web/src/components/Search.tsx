// ⌘K: jobs, datasets, columns and runs, what was opened lately first.
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { datasetOfField, lineageLink, runLink } from "../api/names";
import { searchQuery } from "../api/queries";
import type { SearchResult } from "../api/types";
import { kindOf } from "../graph/kinds";
import { Dialog } from "./Dialog";
import { Icon, type IconName } from "./Icon";
import { recent, remember } from "./recent";
import { Failure } from "./Told";

export function Search({ close }: { close: () => void }) {
  const [text, setText] = useState("");
  const asked = useLater(text, 80);
  const [chosen, setChosen] = useState(0);
  const [, navigate] = useLocation();
  const found = useQuery(searchQuery(asked));
  const isAsking = text.trim() !== "";
  const results = isAsking ? (found.data ?? []) : recent();
  const open = (result: SearchResult | undefined) => {
    if (!result) return;
    remember(result);
    navigate(linkOf(result));
    close();
  };
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step) {
      event.preventDefault();
      setChosen((at) => (at + step + results.length) % Math.max(1, results.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(results[chosen]);
    }
  };
  return (
    <Dialog label="Search" close={close} className="search">
      <input
        autoFocus
        type="search"
        role="combobox"
        aria-label="Search jobs, datasets, columns and runs"
        aria-expanded={results.length > 0}
        aria-controls="found"
        aria-activedescendant={results[chosen] ? `found-${chosen}` : undefined}
        placeholder="Jobs, datasets, columns, runs"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      {found.error && <Failure error={found.error} />}
      <Results results={results} chosen={chosen} open={open} />
      <p className="told">{told(isAsking, results.length, found.isFetching)}</p>
    </Dialog>
  );
}

function told(isAsking: boolean, count: number, isFetching: boolean): string {
  if (!isAsking) return count > 0 ? "Recently opened" : "Type part of a name";
  if (count > 0) return "↑ ↓ to choose, Enter to open";
  return isFetching ? "Searching …" : "No name matches";
}

interface ResultsProps {
  results: SearchResult[];
  chosen: number;
  open: (result: SearchResult) => void;
}

function Results({ results, chosen, open }: ResultsProps) {
  return (
    <div id="found" role="listbox" aria-label="Results">
      {results.map((result, number) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field above.
        <div
          key={result.nodeId + result.type}
          id={`found-${number}`}
          role="option"
          tabIndex={-1}
          aria-selected={number === chosen}
          className="result"
          onClick={() => open(result)}
        >
          <Icon name={iconOf(result)} />
          <span className="name">
            {result.field ? (
              <>
                {result.field} <small>in {result.name}</small>
              </>
            ) : (
              result.name
            )}
          </span>
          <small>{result.namespace}</small>
          <span className="kind">{wordOf(result)}</span>
        </div>
      ))}
    </div>
  );
}

const wordOf = ({ type }: SearchResult) => (type === "FIELD" ? "column" : type.toLowerCase());

function iconOf({ type, namespace, name }: SearchResult): IconName {
  if (type === "JOB") return "stream";
  if (type === "RUN") return "run";
  return type === "DATASET" ? kindOf(namespace, name) : "column";
}

function linkOf(result: SearchResult): string {
  const { type, nodeId, field } = result;
  if (type === "RUN") return runLink(nodeId.replace(/^run:/, ""));
  return field ? lineageLink(datasetOfField(nodeId, field), nodeId) : lineageLink(nodeId);
}

/** A value some time after it stopped changing. */
function useLater<T>(value: T, ms: number): T {
  const [later, setLater] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLater(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return later;
}
