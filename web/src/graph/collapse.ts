// Namespaces drawn as one node each: what many datasets or jobs do together.
import type { DatasetNode, Graph, GraphEdge, GraphNode, JobNode } from "./model";
import { edgeKey } from "./model";
import { type State, stateOf } from "./state";

/** Which of several states one has to see. */
const GRAVEST: State[] = ["failed", "aborted", "silent", "running", "completed", "unknown"];
const PREFIX = "namespace:";

/** What a namespace is called in the list of those drawn as one. */
export const groupOf = (node: GraphNode): string => `${node.kind}:${node.data.namespace}`;

/** The group that a node stands for, if it stands for one. */
export const groupIn = (id: string): string | null =>
  id.startsWith(PREFIX) ? id.slice(PREFIX.length) : null;

/** The groups of a graph with more than one member, by name. */
export function groupsOf(graph: Graph): Map<string, number> {
  const counts = new Map<string, number>();
  for (const node of graph.nodes.values()) {
    counts.set(groupOf(node), (counts.get(groupOf(node)) ?? 0) + 1);
  }
  return new Map([...counts].filter(([, count]) => count > 1).sort());
}

/** A graph with some groups drawn as one node each; nodes that are kept stay themselves. */
export function collapse(
  graph: Graph,
  groups: readonly string[],
  kept: ReadonlySet<string>,
): Graph {
  const members = new Map<string, GraphNode[]>(groups.map((group) => [group, []]));
  const standsIn = new Map<string, string>();
  for (const node of graph.nodes.values()) {
    const inside = kept.has(node.id) ? undefined : members.get(groupOf(node));
    if (!inside) continue;
    inside.push(node);
    standsIn.set(node.id, PREFIX + groupOf(node));
  }
  if (standsIn.size === 0) return graph;
  const nodes = new Map([...graph.nodes].filter(([id]) => !standsIn.has(id)));
  for (const [group, inside] of members) {
    if (inside.length > 0) nodes.set(PREFIX + group, together(PREFIX + group, inside));
  }
  const edges = new Map<string, GraphEdge>();
  for (const edge of graph.edges) {
    const from = standsIn.get(edge.from) ?? edge.from;
    const to = standsIn.get(edge.to) ?? edge.to;
    if (from !== to) edges.set(edgeKey(from, to), { from, to });
  }
  return { nodes, edges: [...edges.values()] };
}

function together(id: string, inside: GraphNode[]): GraphNode {
  const namespace = inside[0]?.data.namespace ?? "";
  const name = `${inside.length} ${inside[0]?.kind}${inside.length > 1 ? "s" : ""}`;
  const shared = { id: { namespace, name }, namespace, name, description: null, updatedAt: "" };
  const jobs = inside.filter((node): node is JobNode => node.kind === "job");
  if (jobs.length === 0) {
    const dataset: DatasetNode = { kind: "dataset", id, data: { ...shared, fields: [], tags: [] } };
    return dataset;
  }
  const isStream = jobs.some((job) => job.data.type === "STREAM");
  return {
    kind: "job",
    id,
    data: {
      ...shared,
      simpleName: `${name} of ${namespace}`,
      parentJobName: null,
      location: null,
      latestRun: gravest(jobs)?.data.latestRun ?? null,
      type: isStream ? "STREAM" : "BATCH",
    },
  };
}

function gravest(jobs: JobNode[]): JobNode | undefined {
  const rank = (job: JobNode) => GRAVEST.indexOf(stateOf(job.data.latestRun?.state));
  return [...jobs].sort((a, b) => rank(a) - rank(b))[0];
}
