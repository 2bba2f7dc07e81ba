import { treeSizeOf } from "../tree/tree-store.ts";
import { LogStore } from "./log-store.ts";

/** State of the signal log in a store. */
export interface LogStatus {
  readonly origin: string;
  /** Number of entries, whether a signed checkpoint covers them or not. */
  readonly entries: number;
  /** When the last checkpoint of this log was signed, Unix milliseconds; `null` if none was. */
  readonly signedAt: number | null;
  /** Why the log is not signed; `null` if it may be. */
  readonly refusal: string | null;
}

/** Reads the state of the signal log; `undefined` if the store has none. */
export async function readLogStatus(
  store: ConstructorParameters<typeof LogStore>[0],
): Promise<LogStatus | undefined> {
  const logs = new LogStore(store);
  const state = (await logs.state())?.value;
  if (state === undefined) return undefined;
  const signed = await logs.checkpoint();
  return {
    origin: state.origin,
    entries: treeSizeOf(state),
    signedAt: signed?.id === state.id ? signed.signedAt : null,
    refusal: (await logs.refusal()) ?? null,
  };
}
