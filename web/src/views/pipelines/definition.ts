// Reads a connector's definition as people write it: with a name, or a bare configuration.

export interface Definition {
  name: string;
  config: Record<string, string>;
}

export function readDefinition(text: string): Definition {
  let told: unknown;
  try {
    told = JSON.parse(text);
  } catch (problem) {
    throw new Error(`This is not JSON: ${(problem as Error).message}`);
  }
  if (!isObject(told)) throw new Error("A definition is an object with a name and a config.");
  const config = isObject(told.config) ? told.config : told;
  const name = told.name ?? config.name;
  if (typeof name !== "string" || name === "") throw new Error("The connector needs a name.");
  const found = Object.fromEntries(
    Object.entries(config).map(([key, value]) => [key, String(value)]),
  );
  if (!found["connector.class"]) throw new Error("The configuration needs a connector.class.");
  return { name, config: { ...found, name } };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
