// Asks before something is done that cannot simply be undone.
import { Dialog } from "./Dialog";

interface Props {
  title: string;
  text: string;
  verb: string;
  isDangerous: boolean;
  yes: () => void;
  no: () => void;
}

export function Confirm({ title, text, verb, isDangerous, yes, no }: Props) {
  return (
    <Dialog label={title} close={no} className="confirm">
      <h2>{title}</h2>
      <p>{text}</p>
      <p className="deeds">
        <button type="button" className={isDangerous ? "danger" : "primary"} onClick={yes}>
          {verb}
        </button>
        <button type="button" onClick={no}>
          Cancel
        </button>
      </p>
    </Dialog>
  );
}
