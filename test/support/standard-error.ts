import { vi } from "vitest";

/** Runs work. @returns What it wrote to standard error. */
export async function standardErrorOf(work: () => unknown): Promise<string> {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    await work();
    return write.mock.calls.map(([text]) => String(text)).join("");
  } finally {
    write.mockRestore();
  }
}
