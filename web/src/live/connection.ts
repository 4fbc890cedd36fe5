// Whether the server is heard from, and how.
import { createStore } from "./store";

export type Connection = "connecting" | "live" | "polling" | "lost";

export const connection = createStore<Connection>("connecting");

export function setConnection(next: Connection): void {
  if (connection.get() !== next) connection.set(next);
}

/** An answer came: whatever was lost is found. */
export function heard(): void {
  if (!isStreaming && connection.get() !== "connecting") setConnection("polling");
}

let isStreaming = false;

/** Says whether states come by themselves, or must be asked for. */
export function setStreaming(streaming: boolean): void {
  isStreaming = streaming;
  setConnection(streaming ? "live" : "polling");
}

export function usesStream(): boolean {
  return isStreaming;
}
