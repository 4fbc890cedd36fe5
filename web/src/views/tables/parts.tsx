// What the table views share: their head, their filters, their pages.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useLocation, useSearch } from "wouter";
import { Failure, Waiting } from "../../components/Told";

export const PAGE = 50;

/** The parameters of the address, and a way to change them; what is empty is left out. */
export function useParams(): [
  URLSearchParams,
  (next: Record<string, string | null>, replace?: boolean) => void,
] {
  const search = useSearch();
  const [location, navigate] = useLocation();
  const params = new URLSearchParams(search);
  const change = (next: Record<string, string | null>, replace = false) => {
    for (const [name, value] of Object.entries(next)) {
      if (value) params.set(name, value);
      else params.delete(name);
    }
    const text = params.toString();
    navigate(`${location}${text ? `?${text}` : ""}`, { replace });
  };
  return [params, change];
}

export function Page({
  title,
  tools,
  children,
}: {
  title: string;
  tools?: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className="page">
      <header className="page-head">
        <h1>{title}</h1>
        <div className="tools">{tools}</div>
      </header>
      {children}
    </div>
  );
}

interface ListingProps {
  what: string;
  found: UseQueryResult<{ totalCount: number }>;
  heads: string[];
  rows: ReactNode[];
  none: ReactNode;
  offset: number;
  change: (next: Record<string, string | null>) => void;
}

/** A table of what was asked for, whatever came of it; its last column leads to the graph. */
export function Listing({ what, found, heads, rows, none, offset, change }: ListingProps) {
  return (
    <>
      {found.isLoading && <Waiting what={what} />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {found.data && rows.length === 0 && none}
      {rows.length > 0 && (
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head}>{head}</th>
              ))}
              <th>
                <span className="hidden">Graph</span>
              </th>
            </tr>
          </thead>
          <tbody>{rows}</tbody>
        </table>
      )}
      <Pager
        total={found.data?.totalCount ?? 0}
        offset={offset}
        go={(next) => change({ offset: String(next) })}
      />
    </>
  );
}

interface PagerProps {
  total: number;
  offset: number;
  go: (offset: number) => void;
}

export function Pager({ total, offset, go }: PagerProps) {
  if (total <= PAGE) return null;
  const last = Math.min(total, offset + PAGE);
  return (
    <nav className="pager" aria-label="Pages">
      <button type="button" disabled={offset === 0} onClick={() => go(Math.max(0, offset - PAGE))}>
        ← Later
      </button>
      <span>
        {offset + 1}–{last} of {total}
      </span>
      <button type="button" disabled={last >= total} onClick={() => go(offset + PAGE)}>
        Earlier →
      </button>
    </nav>
  );
}

const STATES: [string, string][] = [
  ["", "all states"],
  ["RUNNING", "running"],
  ["COMPLETED", "completed"],
  ["FAILED", "failed"],
  ["ABORTED", "aborted"],
];

export function StateFilter({ value, change }: { value: string; change: (value: string) => void }) {
  return (
    <select aria-label="State" value={value} onChange={(event) => change(event.target.value)}>
      {STATES.map(([state, word]) => (
        <option key={state} value={state}>
          {word}
        </option>
      ))}
    </select>
  );
}

export function Filter({
  label,
  value,
  change,
}: {
  label: string;
  value: string;
  change: (value: string) => void;
}) {
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={value}
      onChange={(event) => change(event.target.value)}
    />
  );
}
