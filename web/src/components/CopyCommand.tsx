// A command to be copied into a shell.
import { useState } from "react";
import { copy } from "./clipboard";

export function CopyCommand({ text }: { text: string }) {
  const [copied, setCopied] = useState("");
  const take = async () => {
    await copy(text);
    setCopied(text);
  };
  return (
    <div className="command">
      <code>{text}</code>
      <button type="button" onClick={() => void take()} aria-label="Copy the command">
        {copied === text ? "Copied" : "Copy"}
      </button>
    </div>
  );
}
