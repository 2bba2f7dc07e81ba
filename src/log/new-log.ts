import { randomBytes } from "node:crypto";
import type { LogState } from "./log-store.ts";

/** Random bytes in the id of a log. */
const ID_BYTES = 6;

/** The state of a log without entries, of a new origin. @param host With which its origin begins. */
export function newLog(
  host: string,
  beginning: Pick<LogState, "createdAt" | "recordedUntil" | "replaces">,
): LogState {
  const id = randomBytes(ID_BYTES).toString("hex");
  return {
    id,
    origin: `${host}/log/${id}`,
    edge: [],
    methodHash: null,
    universes: {},
    open: null,
    repeatedAt: Math.max(0, ...Object.values(beginning.recordedUntil)),
    ...beginning,
  };
}
