import { useEffect } from "react";

/** Says in the browser's tab what is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Headwater`;
  }, [title]);
}
