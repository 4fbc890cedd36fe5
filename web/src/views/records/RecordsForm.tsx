// Which records of a topic: partition and offsets, taken when they are entered.
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { parseOffsets } from "./reached";

interface Props {
  partition: string;
  offsets: string;
  take: (partition: string, offsets: string) => void;
  leave?: () => void;
}

export function RecordsForm({ partition, offsets, take, leave }: Props) {
  const [draft, setDraft] = useState({ partition, offsets });
  const [isRefused, setRefused] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    setDraft({ partition, offsets });
    setRefused(false);
    if (!offsets) field.current?.focus();
  }, [partition, offsets]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const isRange = parseOffsets(draft.offsets) !== null;
    setRefused(!isRange);
    if (isRange)
      take(draft.partition || "0", draft.offsets.replaceAll(/\s/g, "").replace("–", "-"));
    else field.current?.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") leave?.();
  };
  return (
    <form className="records-form" onSubmit={submit} onKeyDown={press}>
      <label>
        Partition
        <input
          inputMode="numeric"
          size={3}
          value={draft.partition}
          onChange={({ target }) =>
            setDraft({ ...draft, partition: target.value.replace(/\D/g, "").slice(0, 6) })
          }
        />
      </label>
      <label className="offsets">
        Offsets
        <input
          ref={field}
          placeholder="1000-2000"
          size={14}
          value={draft.offsets}
          aria-invalid={isRefused}
          aria-describedby={isRefused ? "offsets-refused" : undefined}
          onChange={({ target }) => setDraft({ ...draft, offsets: target.value })}
        />
      </label>
      <button type="submit">Trace</button>
      {isRefused && (
        <p id="offsets-refused" className="failure" role="alert">
          Enter an offset such as 1000, or a range such as 1000-2000.
          {offsets && ` The results below are still for ${offsets}.`}
        </p>
      )}
    </form>
  );
}
