import { AsyncLocalStorage } from "node:async_hooks";
import type { Stored } from "../../store/port/records.ts";
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
const outside = new AsyncLocalStorage<Reads>();

const nothing = (): Reads => ({ clients: new Map(), grants: new Map(), accountId: undefined });

/** What a request has read so far. @param ctx Context of the request; without one, what was read in
 *  `asRequest`, if anything. */
export function readsOf(ctx: object | undefined): Reads {
  if (ctx === undefined) return outside.getStore() ?? nothing();
  const reads = kept.get(ctx) ?? nothing();
  kept.set(ctx, reads);
  return reads;
}

/** Does something that is no request to oidc-provider as if it were one: what it writes rests on what
 *  it has read. */
export function asRequest<T>(act: () => Promise<T>): Promise<T> {
  return outside.run(nothing(), act);
}
