import type { Stored } from "../../store/records.ts";
import type { GrantRecord } from "../accounts/grants.ts";
import type { ClientRecord } from "../agents/agent.ts";

/** The state that a request has seen, and that its answer is decided on. */
export interface Reads {
  /** Registered clients by id, as they were when the request began. */
  readonly clients: Map<string, Stored<ClientRecord>>;
  /** Grants by id. */
  readonly grants: Map<string, Stored<GrantRecord>>;
  /** The account that is signed in at the browser; `undefined` when there is none. */
  accountId: string | undefined;
}

const kept = new WeakMap<object, Reads>();

/** What a request has read so far. @param ctx Context of the request; without one, nothing. */
export function readsOf(ctx: object | undefined): Reads {
  const before = ctx && kept.get(ctx);
  if (before !== undefined) return before;
  const reads = { clients: new Map(), grants: new Map(), accountId: undefined };
  if (ctx !== undefined) kept.set(ctx, reads);
  return reads;
}
