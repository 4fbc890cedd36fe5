// A slider over history, with marks where the graph changed; a second one to compare with.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { get } from "../../api/client";
import { often } from "../../api/queries";
import { type Change, near, scaleOf, type TimeScale } from "../../graph/times";
import { clock, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { useView } from "./state";

const RANGES: [string, number][] = [
  ["all", 0],
  ["7 days", 7 * 86_400_000],
  ["24 hours", 86_400_000],
  ["1 hour", 3_600_000],
];

export function TimeBar({ told }: { told: string }) {
  const { state } = useView();
  return state.time ? <Bar told={told} /> : null;
}

function Bar({ told }: { told: string }) {
  const { state, change } = useView();
  const now = useNow();
  const [range, setRange] = useState(0);
  const found = useQuery({
    queryKey: ["changes", state.anchors[0] ?? ""],
    queryFn: ({ signal }) =>
      get<{ changes: Change[] }>("/lineage/changes", { nodeId: state.anchors[0] ?? null }, signal),
    refetchInterval: often,
  });
  const changes = found.data?.changes ?? [];
  const scale = scaleOf(changes, now, range);
  const at = state.at ? Date.parse(state.at) : null;
  const since = state.since ? Date.parse(state.since) : null;
  const here = at ?? scale.to;
  const go = (time: number | null) =>
    change({ at: time === null ? null : new Date(time).toISOString() }, "replace");
  const compare = () => {
    const before = near(changes, here, "before");
    const start = before ? before - 1 : scale.from;
    change({ since: since === null ? new Date(start).toISOString() : null }, "replace");
  };
  const step = (way: "before" | "after") => go(near(changes, here, way));
  return (
    <section className="timebar" aria-label="Time">
      <button type="button" onClick={() => step("before")} aria-label="Previous change">
        ◀
      </button>
      <div className="tracks">
        {since !== null && (
          <Track
            label="Compare with"
            scale={scale}
            value={since}
            changes={changes}
            settle={(time) => change({ since: new Date(time).toISOString() }, "replace")}
          />
        )}
        <Track
          label={since === null ? "Point in time" : "Until"}
          scale={scale}
          value={here}
          changes={changes}
          settle={(time) => go(time >= scale.to - scale.step ? null : time)}
        />
      </div>
      <button
        type="button"
        onClick={() => step("after")}
        disabled={at === null}
        aria-label="Next change"
      >
        ▶
      </button>
      <output className="moment" title={at === null ? "" : moment(at)}>
        {since !== null && `${clock(since, now)} – `}
        {at === null ? "now" : clock(at, now)}
      </output>
      <button type="button" onClick={() => go(null)} disabled={at === null}>
        Now
      </button>
      <button type="button" aria-pressed={since !== null} onClick={compare}>
        Compare
      </button>
      <select
        aria-label="Time range"
        value={range}
        onChange={(event) => setRange(Number(event.target.value))}
      >
        {RANGES.map(([name, ms]) => (
          <option key={name} value={ms}>
            {name}
          </option>
        ))}
      </select>
      <span className="sub">{told || `${changes.length} changes`}</span>
    </section>
  );
}

interface TrackProps {
  label: string;
  scale: TimeScale;
  value: number;
  changes: Change[];
  settle: (time: number) => void;
}

function Track({ label, scale, value, changes, settle }: TrackProps) {
  const [held, setHeld] = useState<number | null>(null);
  const shown = Math.min(scale.to, Math.max(scale.from, held ?? value));
  useEffect(() => {
    if (held === null) return;
    const timer = setTimeout(() => {
      settle(held);
      setHeld(null);
    }, 120);
    return () => clearTimeout(timer);
  }, [held, settle]);
  return (
    <div className="track">
      <div className="marks" aria-hidden="true">
        {changes.map((one) => {
          const place = scale.place(Date.parse(one.at));
          if (place < 0 || place > 1) return null;
          return (
            <span
              key={one.at + one.nodeIds.join()}
              className="tick"
              style={{ left: `${place * 100}%` }}
            />
          );
        })}
      </div>
      <input
        type="range"
        aria-label={label}
        aria-valuetext={moment(shown)}
        min={scale.from}
        max={scale.to}
        step={scale.step}
        value={shown}
        onChange={(event) => setHeld(Number(event.target.value))}
      />
    </div>
  );
}
