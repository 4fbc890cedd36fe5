// Reads server-sent events from a body that was fetched, so that a key can go in a header.

export interface ServerEvent {
  id: string | null;
  event: string;
  data: string;
}

/** Takes text in as it comes, and gives out every event that is whole. */
export class EventReader {
  private rest = "";

  take(text: string): ServerEvent[] {
    const blocks = (this.rest + text).replaceAll("\r\n", "\n").split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(readBlock).filter((event) => event !== null);
  }
}

function readBlock(block: string): ServerEvent | null {
  let id: string | null = null;
  let event = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const cut = line.indexOf(":");
    if (cut <= 0) continue; // a comment
    const value = line.slice(cut + 1).replace(/^ /, "");
    if (line.startsWith("id:")) id = value;
    else if (line.startsWith("event:")) event = value;
    else if (line.startsWith("data:")) data.push(value);
  }
  return data.length > 0 ? { id, event, data: data.join("\n") } : null;
}
