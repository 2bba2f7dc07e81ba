import { neutralText } from "../../outbound/neutral-text.ts";

/** What can be wrong with a provider, by what is to be done about it. */
export type FaultKind =
  /** No connection, no answer in time, or one that broke off. */
  | "unreachable"
  /** It asks to come back later (429, or its own words for it). */
  | "limited"
  /** It has trouble of its own (5xx). */
  | "failing"
  /** It does not let us in: the key or the plan does not allow it. */
  | "refused"
  /** What came is not what it documents. */
  | "malformed"
  /** Its clock and ours are far apart: nothing can be said of when something was. */
  | "clock"
  /** What came could not be kept: the trouble is our own. */
  | "unkept";

/** Most characters of what is said of a fault. */
const MAX_CHARACTERS = 300;

/** A provider did not give what was asked for. The message is for the operator:
 *  one line, in which nothing that the provider wrote can do anything to a terminal. */
export class ProviderFault extends Error {
  override readonly name = "ProviderFault";
  readonly kind: FaultKind;
  /** What the provider asks for, milliseconds from now; absent when it does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FaultKind, message: string, retryAfterMs?: number) {
    super(neutralText(message.slice(0, MAX_CHARACTERS)).replace(/\s+/g, " "));
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
