// Speaks to the server: one way to ask, one kind of error.
import { heard, setConnection } from "../live/connection";
import { currentKey, wantKey } from "./key";

/** An answer that is no success, with what the server says to do about it. */
export class ApiError extends Error {
  readonly status: number;
  readonly hint: string;
  constructor(status: number, message: string, hint = "") {
    super(message);
    this.status = status;
    this.hint = hint;
  }
}

export type Params = Record<string, string | number | boolean | string[] | null | undefined>;

/** The address of something under the API. */
export function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value === null || value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

/** Asks, with the reader's key where there is one. */
export async function ask(url: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const key = currentKey();
  if (key) headers.set("Authorization", `Bearer ${key}`);
  let answer: Response;
  try {
    answer = await fetch(url, { ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    setConnection("lost");
    throw new ApiError(0, "The server does not answer", "The page retries automatically.");
  }
  heard();
  if (answer.status === 401) wantKey();
  if (!answer.ok) throw await problem(answer);
  return answer;
}

/** Gets JSON. */
export async function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
  const answer = await ask(address(path, params), signal ? { signal } : {});
  return (await answer.json()) as T;
}

/** Sends JSON, and gives what comes back, if anything does. */
export async function send<T>(method: string, path: string, body?: unknown): Promise<T | null> {
  const init: RequestInit = { method };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const text = await (await ask(address(path), init)).text();
  return text ? (JSON.parse(text) as T) : null;
}

async function problem(answer: Response): Promise<ApiError> {
  const told: unknown = await answer.json().catch(() => null);
  if (told && typeof told === "object") {
    const { message, errors, hint, detail } = told as Record<string, unknown>;
    const text = Array.isArray(errors) ? errors.join("; ") : (message ?? detail);
    if (text) return new ApiError(answer.status, String(text), hint ? String(hint) : "");
  }
  return new ApiError(answer.status, `The server answered ${answer.status}`);
}
