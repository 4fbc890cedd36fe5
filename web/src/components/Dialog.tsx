// A dialog over the page: the browser's own, with its focus and its Escape.
import { type ReactNode, useEffect, useRef } from "react";

interface Props {
  label: string;
  close: () => void;
  className?: string;
  children: ReactNode;
}

export function Dialog({ label, close, className = "", children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const found = dialog.current;
    found?.showModal();
    return () => found?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself.
    <dialog
      ref={dialog}
      aria-label={label}
      className={className}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {children}
    </dialog>
  );
}
