// A name of a dataset, job or topic, which may be longer than its line.
import { Fragment } from "react";
import { partsOf } from "../graph/sizes";

/** A name that breaks after slashes, dots and the like, and elsewhere only if it must. */
export function WrappedName({ name }: { name: string }) {
  return (
    <span className="name" title={name}>
      {partsOf(name).map((part, number) => (
        <Fragment key={number}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </span>
  );
}
