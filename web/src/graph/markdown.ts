// Descriptions in Markdown, read into a tree of plain values. Nothing of them is ever HTML.

export type Inline =
  | { kind: "text" | "code" | "strong" | "em"; text: string }
  | { kind: "link"; text: string; href: string };

export type Block =
  | { kind: "heading"; parts: Inline[] }
  | { kind: "paragraph"; parts: Inline[] }
  | { kind: "code"; text: string }
  | { kind: "list"; ordered: boolean; items: Inline[][] };

const FENCE = /^\s*```/;
const HEADING = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/;
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;
const INLINE =
  /`([^`]+)`|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|\[([^\]]+)\]\(([^)\s]+)\)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?'"])/g;

/** The address of a link that a page may open: of the web, or of mail. */
export function safeLink(text: string): string | null {
  try {
    const url = new URL(text);
    return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

export function readInline(text: string): Inline[] {
  const parts: Inline[] = [];
  let end = 0;
  const plain = (until: number) => {
    if (until > end) parts.push({ kind: "text", text: text.slice(end, until) });
  };
  for (const match of text.matchAll(INLINE)) {
    const [whole, code, bold, under, em, label, target, bare] = match;
    const href = safeLink(target ?? bare ?? "");
    if ((label || bare) && !href) continue; // it stays as it is written
    plain(match.index);
    if (code) parts.push({ kind: "code", text: code });
    else if (bold || under) parts.push({ kind: "strong", text: bold ?? under ?? "" });
    else if (em) parts.push({ kind: "em", text: em });
    else if (href) parts.push({ kind: "link", text: label ?? bare ?? "", href });
    end = match.index + whole.length;
  }
  plain(text.length);
  return parts;
}

export function readMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  let lines: string[] = [];
  const close = () => {
    if (lines.length > 0) blocks.push({ kind: "paragraph", parts: readInline(lines.join("\n")) });
    lines = [];
  };
  const rows = text.split(/\r?\n/);
  for (let number = 0; number < rows.length; number += 1) {
    const row = rows[number] ?? "";
    const heading = HEADING.exec(row);
    const item = ITEM.exec(row);
    if (FENCE.test(row)) {
      close();
      const found = rows.findIndex((one, at) => at > number && FENCE.test(one));
      const until = found < 0 ? rows.length : found;
      blocks.push({ kind: "code", text: rows.slice(number + 1, until).join("\n") });
      number = until;
    } else if (heading) {
      close();
      blocks.push({ kind: "heading", parts: readInline(heading[1] ?? "") });
    } else if (item) {
      close();
      const ordered = item[1] !== undefined;
      const last = blocks.at(-1);
      const parts = readInline(item[2] ?? "");
      if (last?.kind === "list" && last.ordered === ordered) last.items.push(parts);
      else blocks.push({ kind: "list", ordered, items: [parts] });
    } else if (row.trim() === "") close();
    else lines.push(row);
  }
  close();
  return blocks;
}
