// Commands to be copied into a shell.
import type { Place } from "./reached";

const PLAIN = /^[\w@%+=:,./-]+$/;
const SPECIAL = /["$`\\!]/; // within double quotes

/** A word of a POSIX shell, quoted where it has to be. */
export function quoted(word: string): string {
  if (PLAIN.test(word)) return word;
  return SPECIAL.test(word) ? `'${word.replaceAll("'", `'\\''`)}'` : `"${word}"`;
}

/** What tells a command which server to ask: nothing where it asks this one by itself. */
const server = () => {
  const { origin } = window.location;
  return origin === "http://127.0.0.1:5000" ? "" : ` --server ${quoted(origin)}`;
};

/** What these records reached. */
export const reachedCommand = (node: string, { partition, offsets }: Place): string =>
  `headwater reached ${quoted(node)} --partition ${partition} --offsets ${offsets}${server()}`;

/** Where a row came from, with its records. */
export const whyCommand = (table: string, predicate: string, withJson = false): string =>
  `headwater why ${quoted(table)} ${quoted(predicate)} --records` +
  `${withJson ? " --json" : ""}${server()}`;
