// Where a snapshot of a table came from: a story from the first records to the snapshot.
import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { get } from "../../api/client";
import { lineageLink, runLink } from "../../api/names";
import { Icon } from "../../components/Icon";
import { StateBadge } from "../../components/StateBadge";
import { Empty, Failure, Waiting } from "../../components/Told";
import { useTitle } from "../../components/useTitle";
import { kindOf } from "../../graph/kinds";
import { stateOf } from "../../graph/state";
import { ago, moment } from "../../graph/words";
import { useNow } from "../../live/now";
import { Page, useParams } from "../tables/parts";
import { type Why as Found, rangesOf, type VersionRead, type Write, whyLink } from "./why";

export function Why() {
  const [params] = useParams();
  const node = params.get("node") ?? "";
  const snapshot = params.get("snapshot") ?? "";
  const name = node.slice(node.lastIndexOf(":") + 1);
  useTitle(`Snapshot of ${name}`);
  const found = useQuery({
    queryKey: ["why", node, snapshot],
    enabled: node !== "" && snapshot !== "",
    queryFn: ({ signal }) => get<Found>("/why", { nodeId: node, snapshot }, signal),
  });
  const steps = (found.data?.writes ?? []).toReversed();
  return (
    <Page title={`Where snapshot ${snapshot || "…"} of ${name || "…"} came from`}>
      {(!node || !snapshot) && (
        <Empty title="No snapshot is selected">
          <p>Open a table, and choose Trace at one of its snapshots.</p>
        </Empty>
      )}
      {found.isLoading && <Waiting what="where the snapshot came from" />}
      {found.error && <Failure error={found.error} again={() => void found.refetch()} />}
      {steps.length > 0 && <Steps steps={steps} />}
      {found.data?.complete === false && (
        <p className="failure">There are more runs than are followed: the list is not complete.</p>
      )}
      {steps.length > 0 && (
        <p className="sub">
          For one row and the messages behind it, run{" "}
          <code>headwater why TABLE "order_id = '…'" --records</code>.
        </p>
      )}
    </Page>
  );
}

function Steps({ steps }: { steps: Write[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th className="number">Step</th>
          <th>Read</th>
          <th>Job</th>
          <th>Run</th>
          <th>Records</th>
          <th>Wrote</th>
        </tr>
      </thead>
      <tbody>
        {steps.map((write, index) => (
          <Step
            key={`${write.runId ?? write.nodeId} ${write.output.nodeId}`}
            {...{ write, index }}
          />
        ))}
      </tbody>
    </table>
  );
}

function Step({ write, index }: { write: Write; index: number }) {
  const now = useNow();
  return (
    <tr>
      <td className="number">{index + 1}</td>
      <td className="wide">
        {(write.inputs ?? []).map((one) => (
          <Version key={one.nodeId} version={one} write={write} />
        ))}
      </td>
      <td className="wide">
        <Link href={lineageLink(write.nodeId)}>{write.name}</Link>
        <small>{write.namespace}</small>
      </td>
      <td>
        {write.runId && write.state && (
          <Link href={runLink(write.runId)}>
            <StateBadge state={stateOf(write.state)} />
          </Link>
        )}
        {write.batch != null && <small>batch {write.batch}</small>}
        {write.at && <small title={moment(write.at)}>{ago(write.at, now)}</small>}
      </td>
      <td className="wide">
        {write.exact ? "exact" : "superset"}
        {write.reason && <small>{write.reason}</small>}
      </td>
      <td className="wide">
        <Version version={write.output} />
      </td>
    </tr>
  );
}

function Version({ version, write }: { version: VersionRead; write?: Write }) {
  const ranges = write ? rangesOf(write, version) : [];
  return (
    <div>
      <Link href={lineageLink(version.nodeId)} className="with-icon">
        <Icon name={kindOf(version.namespace, version.name)} />
        {version.name}
      </Link>
      {version.snapshot && (
        <small>
          {write ? (
            <Link href={whyLink(version.nodeId, version.snapshot)}>
              snapshot {version.snapshot}
            </Link>
          ) : (
            `snapshot ${version.snapshot}`
          )}
        </small>
      )}
      {ranges.map(({ partition, text, link }) => (
        <small key={partition}>
          partition {partition}: {link ? <Link href={link}>{text}</Link> : text}
        </small>
      ))}
    </div>
  );
}
