// Keeps listening to the server: states, progress and changes of the graph as they happen.
import { ApiError, address, ask } from "../api/client";
import { keyStore } from "../api/key";
import { type Pulse, stateOf } from "../graph/state";
import { setConnection, setStreaming } from "./connection";
import { tell } from "./pulses";
import { EventReader, type ServerEvent } from "./sse";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 5_000;
const HIDDEN = 20_000;
const QUIET = 40_000; // the server speaks every 15 s at least

interface About {
  runId: string;
  nodeId: string;
  at: string;
}

interface RunNews extends About {
  state: string;
  error: string | null;
}

interface ProgressNews extends About {
  rows: number | null;
  rowsPerSecond: number | null;
  lagRows: number | null;
  lagSeconds: number | null;
}

export interface Listener {
  /** Run states changed: what tables show is old. */
  onRuns(): void;
  /** The graph changed. */
  onGraph(): void;
  /** The connection is back, or news were missed: everything may be old. */
  onBack(): void;
}

/** Listens until it is told to stop. */
export function listen(listener: Listener): () => void {
  const stop = new AbortController();
  void keepListening(listener, stop.signal);
  return () => stop.abort();
}

async function keepListening(listener: Listener, stop: AbortSignal): Promise<void> {
  let last: string | null = null;
  let wait = FIRST_WAIT;
  while (!stop.aborted) {
    await untilSeen();
    try {
      await once(listener, stop, last, (id) => {
        last = id ?? last;
        wait = FIRST_WAIT;
      });
    } catch (error) {
      if (stop.aborted) return;
      if (error instanceof ApiError && error.status === 404) {
        setStreaming(false); // a server without a stream is asked every so often
        return;
      }
      if (error instanceof ApiError && error.status === 401) await newKey();
    }
    if (stop.aborted) return;
    if (document.hidden) continue;
    setConnection("lost");
    await new Promise((done) => setTimeout(done, wait));
    wait = Math.min(LONGEST_WAIT, wait * 2);
  }
}

/** One connection, from its beginning to its end. */
async function once(
  listener: Listener,
  stop: AbortSignal,
  last: string | null,
  heard: (id: string | null) => void,
): Promise<void> {
  const quiet = new AbortController();
  const signal = AbortSignal.any([stop, quiet.signal]);
  const headers: Record<string, string> = { Accept: "text/event-stream" };
  if (last) headers["Last-Event-ID"] = last;
  let timer = setTimeout(() => quiet.abort(), QUIET);
  const forget = whenHidden(() => quiet.abort());
  try {
    const answer = await ask(address("/stream"), { headers, signal, cache: "no-store" });
    setStreaming(true);
    if (last !== null) listener.onBack();
    heard(last ?? "");
    const reader = new EventReader();
    const text = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const part = await text?.read();
      if (!part || part.done) return;
      clearTimeout(timer);
      timer = setTimeout(() => quiet.abort(), QUIET);
      for (const event of reader.take(part.value)) {
        take(event, listener);
        heard(event.id);
      }
    }
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/**
 * Calls when the page has been out of sight for a while: a browser keeps only a few connections
 * to one server, and forgotten tabs would take them all.
 */
function whenHidden(call: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(call, HIDDEN);
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

function untilSeen(): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
  });
}

function take({ event, data }: ServerEvent, listener: Listener): void {
  if (event === "lost") listener.onBack();
  else if (event === "graph") listener.onGraph();
  else if (event === "run") {
    const news = JSON.parse(data) as RunNews;
    tell(news.nodeId, runPulse(news));
    listener.onRuns();
  } else if (event === "progress") {
    const news = JSON.parse(data) as ProgressNews;
    tell(news.nodeId, progressPulse(news));
  }
}

type News = Partial<Pulse> & { runId: string; heardAt: number };

function runPulse({ runId, state, at, error }: RunNews): News {
  const word = stateOf(state);
  // A running job was heard now, by our own clock; one that ended did so by its own.
  const heardAt = word === "running" ? Date.now() : Date.parse(at);
  return { runId, state: word, heardAt, error };
}

function progressPulse(news: ProgressNews): News {
  const { runId, rows, rowsPerSecond: rate, lagRows, lagSeconds } = news;
  // No state: what ended stays ended, though its last figures may be told after.
  return { runId, heardAt: Date.now(), rows, rate, lagRows, lagSeconds };
}

/** Waits until another key is given. */
function newKey(): Promise<void> {
  const old = keyStore.get().key;
  return new Promise((done) => {
    const forget = keyStore.watch(() => {
      if (keyStore.get().key === old) return;
      forget();
      done();
    });
  });
}
