// What a view says when there is nothing, when it waits, and when something went wrong.
import type { ReactNode } from "react";
import { ApiError } from "../api/client";

export function Waiting({ what }: { what: string }) {
  return (
    <p className="told waiting" role="status">
      Loading {what} …
    </p>
  );
}

export function Failure({ error, again }: { error: Error; again?: () => void }) {
  const hint = error instanceof ApiError ? error.hint : "";
  return (
    <div className="told failure" role="alert">
      <strong>{error.message}</strong>
      {hint && <p>{hint}</p>}
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="told empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** How to send a first event, to the very server that this page comes from. */
export function FirstEvent() {
  const body = `curl ${window.location.origin}/api/v1/lineage \\
  -H 'Content-Type: application/json' -d '{
  "eventType": "COMPLETE",
  "eventTime": "${new Date().toISOString()}",
  "producer": "https://example.com/first",
  "run": {"runId": "${crypto.randomUUID?.() ?? "0a1b2c3d-0000-4000-8000-000000000001"}"},
  "job": {"namespace": "lab", "name": "ingest"},
  "inputs": [{"namespace": "kafka://broker:9092", "name": "orders"}],
  "outputs": [{"namespace": "s3://warehouse", "name": "default/orders"}]
}'`;
  return (
    <>
      <p>Send OpenLineage events to this server. Producers need only its address:</p>
      <pre>export OPENLINEAGE_URL={window.location.origin}</pre>
      <p>Or send a first event by hand:</p>
      <pre>{body}</pre>
    </>
  );
}
