import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { listen } from "./stream";

const TOGETHER = 250; // milliseconds in which several news ask for one look

/** Listens to the server for as long as the page is open. */
export function useStream(): void {
  const client = useQueryClient();
  useEffect(() => {
    const waiting = new Map<string, ReturnType<typeof setTimeout>>();
    const soon = (keys: string[]) => {
      const name = keys.join();
      if (waiting.has(name)) return;
      const ask = () => {
        waiting.delete(name);
        for (const key of keys) void client.invalidateQueries({ queryKey: [key] });
      };
      waiting.set(name, setTimeout(ask, TOGETHER));
    };
    const stop = listen({
      onRuns: () => soon(["job", "jobs", "runs", "all-runs", "run", "run-events"]),
      onGraph: () => soon(["whole", "lineage", "columns", "changes", "datasets", "dataset"]),
      onBack: () => void client.invalidateQueries(),
    });
    return () => {
      stop();
      for (const timer of waiting.values()) clearTimeout(timer);
    };
  }, [client]);
}
