// A description as its author marked it up.
import { type Block, type Inline, readMarkdown } from "../graph/markdown";

export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      {readMarkdown(text).map((block, number) => (
        <Part key={number} block={block} />
      ))}
    </div>
  );
}

function Part({ block }: { block: Block }) {
  if (block.kind === "code") return <pre>{block.text}</pre>;
  if (block.kind === "paragraph") return <p>{<Words parts={block.parts} />}</p>;
  if (block.kind === "heading") {
    return (
      <p className="heading">
        <Words parts={block.parts} />
      </p>
    );
  }
  const List = block.ordered ? "ol" : "ul";
  return (
    <List>
      {block.items.map((parts, number) => (
        <li key={number}>
          <Words parts={parts} />
        </li>
      ))}
    </List>
  );
}

function Words({ parts }: { parts: Inline[] }) {
  return (
    <>
      {parts.map((part, number) => (
        <Word key={number} part={part} />
      ))}
    </>
  );
}

function Word({ part }: { part: Inline }) {
  switch (part.kind) {
    case "link":
      return <Outside href={part.href}>{part.text}</Outside>;
    case "code":
      return <code>{part.text}</code>;
    case "strong":
      return <strong>{part.text}</strong>;
    case "em":
      return <em>{part.text}</em>;
    default:
      return <>{part.text}</>;
  }
}

/** A link to another site, which learns nothing of this one. */
export function Outside({ href, children }: { href: string; children: string }) {
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
