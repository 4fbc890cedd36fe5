/** Copies text; where the browser allows no clipboard (plain HTTP), it is shown to be copied. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    window.prompt("Copy this:", text);
  }
}
