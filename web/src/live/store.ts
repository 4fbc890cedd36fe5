// A value that components can watch: the smallest store that works with React.
import { useSyncExternalStore } from "react";

export interface Store<T> {
  get(): T;
  set(value: T): void;
  watch(told: () => void): () => void;
}

export function createStore<T>(first: T): Store<T> {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      value = next;
      for (const told of [...watchers]) told();
    },
    watch(told) {
      watchers.add(told);
      return () => watchers.delete(told);
    },
  };
}

export function useStored<T>(store: Store<T>): T {
  return useSyncExternalStore(store.watch, store.get);
}
