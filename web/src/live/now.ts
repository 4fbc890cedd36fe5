// The clock of the page: one tick a second, shared by everything that tells how long ago.
import { useSyncExternalStore } from "react";

let now = Date.now();
const watchers = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function watch(told: () => void): () => void {
  watchers.add(told);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const one of [...watchers]) one();
  }, 1000);
  return () => {
    watchers.delete(told);
    if (watchers.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

export function useNow(): number {
  return useSyncExternalStore(watch, () => now);
}
