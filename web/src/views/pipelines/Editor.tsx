// Deploys a connector from a file or from what is written here; the cluster checks it first.
import { useQueryClient } from "@tanstack/react-query";
import { type ChangeEvent, useState } from "react";
import { Dialog } from "../../components/Dialog";
import { Failure } from "../../components/Told";
import { deploy, validate } from "./api";
import { readDefinition } from "./definition";

interface Props {
  cluster: string;
  name?: string;
  config?: Record<string, string>;
  close: () => void;
}

const EXAMPLE = { name: "", config: { "connector.class": "" } };

export function Editor({ cluster, name, config, close }: Props) {
  const client = useQueryClient();
  const first = name && config ? { name, config } : EXAMPLE;
  const [text, setText] = useState(JSON.stringify(first, null, 2));
  const [faults, setFaults] = useState<Map<string, string[]> | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: (name: string, config: Record<string, string>) => Promise<void>) => {
    setError(null);
    setBusy(true);
    try {
      const told = readDefinition(text);
      await work(told.name, told.config);
    } catch (problem) {
      setError(problem as Error);
    }
    setBusy(false);
  };
  const check = async (_: string, wanted: Record<string, string>) => {
    setFaults(await validate(cluster, wanted));
  };
  const put = async (wantedName: string, wanted: Record<string, string>) => {
    const found = await validate(cluster, wanted);
    setFaults(found);
    if (found.size > 0) return;
    await deploy(cluster, wantedName, wanted);
    await client.invalidateQueries({ queryKey: ["connectors", cluster] });
    close();
  };
  const take = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0];
    if (file) setText(await file.text());
    setFaults(null);
  };
  return (
    <Dialog label="Deploy a connector" close={close} className="editor">
      <h2>{name ? `Edit ${name}` : `Deploy to ${cluster}`}</h2>
      {!name && (
        <label>
          From a file <input type="file" accept=".json,application/json" onChange={take} />
        </label>
      )}
      <label className="code">
        Definition, as JSON
        <textarea
          spellCheck={false}
          rows={16}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setFaults(null);
          }}
        />
      </label>
      {error && <Failure error={error} />}
      {faults && <Faults faults={faults} />}
      <p className="deeds">
        <button
          type="button"
          disabled={isBusy}
          className="primary"
          onClick={() => void attempt(put)}
        >
          {name ? "Change" : "Deploy"}
        </button>
        <button type="button" disabled={isBusy} onClick={() => void attempt(check)}>
          Check
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}

function Faults({ faults }: { faults: Map<string, string[]> }) {
  if (faults.size === 0) return <p role="status">✓ The cluster accepts this definition.</p>;
  return (
    <ul className="faults" role="alert">
      {[...faults].map(([key, errors]) => (
        <li key={key}>
          <strong>{key}</strong> {errors.join("; ")}
        </li>
      ))}
    </ul>
  );
}
