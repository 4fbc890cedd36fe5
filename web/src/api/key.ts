// The reader's API key: kept for this tab, never in an address.
import { createStore } from "../live/store";

const PLACE = "headwater.key";

function stored(): string {
  try {
    return sessionStorage.getItem(PLACE) ?? "";
  } catch {
    return "";
  }
}

interface KeyState {
  key: string;
  wanted: boolean;
}

export const keyStore = createStore<KeyState>({ key: stored(), wanted: false });

export function currentKey(): string {
  return keyStore.get().key;
}

/** Says that the server asked for a key, or refused the one it was given. */
export function wantKey(): void {
  if (!keyStore.get().wanted) keyStore.set({ ...keyStore.get(), wanted: true });
}

/** Takes a key into use; an empty one signs out. */
export function takeKey(key: string): void {
  try {
    if (key) sessionStorage.setItem(PLACE, key);
    else sessionStorage.removeItem(PLACE);
  } catch {
    // Without storage the key lives as long as the page.
  }
  keyStore.set({ key, wanted: false });
}
