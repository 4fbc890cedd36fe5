// One row of a table: the command that finds it, and its answer shown here.
import { type FormEvent, useState } from "react";
import { CopyCommand } from "../../components/CopyCommand";
import { Icon } from "../../components/Icon";
import { type Answer, readAnswer } from "./answer";
import { whyCommand } from "./command";
import { Chapter } from "./Story";

interface Props {
  table: string;
  /** A column for the example. */
  column: string;
  show: (answer: Answer) => void;
}

export function RowAsk({ table, column, show }: Props) {
  const [predicate, setPredicate] = useState("");
  const [withJson, setWithJson] = useState(false);
  const example = `${column} = 'a1'`;
  return (
    <Chapter sign={<Icon name="table" />} title={`A row of ${table}`}>
      <p className="sub">
        The server stores lineage and does not read tables. This command reads the table with Spark,
        and shows the row, its snapshot and the messages that it came from.
      </p>
      <label className="predicate">
        Condition that selects the row
        <input
          value={predicate}
          placeholder={example}
          onChange={({ target }) => setPredicate(target.value)}
        />
      </label>
      <CopyCommand text={whyCommand(table, predicate.trim() || example, withJson)} />
      <details onToggle={({ currentTarget }) => setWithJson(currentTarget.open)}>
        <summary>Show the output here</summary>
        <Paste show={show} />
      </details>
    </Chapter>
  );
}

function Paste({ show }: { show: (answer: Answer) => void }) {
  const [text, setText] = useState("");
  const [isRefused, setRefused] = useState(false);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const answer = readAnswer(text);
    setRefused(answer === null || answer.rows.length === 0);
    if (answer && answer.rows.length > 0) show(answer);
  };
  return (
    <form className="paste" onSubmit={submit}>
      <label>
        Output of the command with --json; it is not sent to the server
        <textarea
          rows={5}
          value={text}
          aria-invalid={isRefused}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      {isRefused && (
        <p className="failure" role="alert">
          This is not what headwater why --json prints. Paste all of its output.
        </p>
      )}
      <button type="submit" disabled={text.trim() === ""}>
        Show the row
      </button>
    </form>
  );
}
