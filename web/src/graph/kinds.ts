// What sort of thing a dataset is, by where it lives.

export type DatasetKind = "topic" | "table" | "objects" | "file" | "database";

const SCHEMES: [RegExp, DatasetKind][] = [
  [/^kafka:/, "topic"],
  [/^(s3|gs|abfss?|wasbs?|oss):/, "objects"],
  [/^(file|hdfs|local)/, "file"],
  [/^(postgres|mysql|oracle|sqlserver|redshift|snowflake|bigquery|trino|hive|jdbc)/, "database"],
];

export const KIND_WORD: Record<DatasetKind, string> = {
  topic: "topic",
  table: "table",
  objects: "objects",
  file: "files",
  database: "database table",
};

/** The kind of a dataset; a warehouse folder in an object store is a table. */
export function kindOf(namespace: string, name: string): DatasetKind {
  const found = SCHEMES.find(([scheme]) => scheme.test(namespace))?.[1] ?? "database";
  const isTable = /warehouse|iceberg|\.db\//i.test(`${namespace}/${name}`);
  return (found === "objects" || found === "file") && isTable ? "table" : found;
}

/** A hue for a namespace, always the same. */
export function hueOf(namespace: string): number {
  let hash = 0;
  for (const letter of namespace) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0;
  return (hash * 137.508) % 360;
}
