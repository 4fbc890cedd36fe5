// Small drawings, in the colour of the text around them.
import type { DatasetKind } from "../graph/kinds";

export type IconName = DatasetKind | "stream" | "batch" | "column" | "run" | "search" | "close";

const PATHS: Record<IconName, string> = {
  topic: "M2 5c2-2 4 2 6 0s4-2 6 0M2 8.5c2-2 4 2 6 0s4-2 6 0M2 12c2-2 4 2 6 0s4-2 6 0",
  table: "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.6h11M6.5 3v10",
  objects: "M2.5 4.5h11l-1.2 9H3.7zM2.5 4.5c0-2.4 11-2.4 11 0",
  file: "M4 2h5.5L12.5 5v9H4zM9.5 2v3h3",
  database: "M3 4c0-2 10-2 10 0v8c0 2-10 2-10 0zM3 4c0 2 10 2 10 0M3 8c0 2 10 2 10 0",
  stream: "M2 8h3l1.5-4 3 8L11 8h3",
  batch: "M3 3h10v10H3zM6.5 5.8v4.4L10.3 8z",
  column: "M6 2.5h4v11H6zM2.5 2.5v11M13.5 2.5v11",
  run: "M4 3v10l8-5z",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9M10.3 10.3L14 14",
  close: "M4 4l8 8M12 4l-8 8",
};

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
