import { Dialog } from "../../components/Dialog";
import { KEYS } from "./useKeys";

const SIGNS: [string, string][] = [
  ["ƒ", "transformed"],
  ["Σ", "aggregated"],
  ["▒", "masked"],
  ["dotted", "indirect: used to filter, join, group or sort"],
  ["● ✓ ✕", "running, completed, failed"],
  ["■ ◌ ○", "aborted, silent, unknown"],
];

export function KeyHelp({ close }: { close: () => void }) {
  return (
    <Dialog label="Keys and signs" close={close} className="help">
      <h2>Keys</h2>
      <Pairs pairs={KEYS} />
      <h2>Signs</h2>
      <Pairs pairs={SIGNS} />
      <button type="button" onClick={close}>
        Close
      </button>
    </Dialog>
  );
}

function Pairs({ pairs }: { pairs: [string, string][] }) {
  return (
    <dl className="pairs">
      {pairs.map(([key, does]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
