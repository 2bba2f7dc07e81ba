import { neutralText } from "../../outbound/neutral-text.ts";

/** Kinds of faults, by what is to be done about them. */
export type FaultKind =
  /** No connection, no answer in time, or one that broke off. */
  | "unreachable"
  /** The provider limits our rate (429 or an equivalent). */
  | "limited"
  /** The provider fails (5xx). */
  | "failing"
  /** The provider refuses access: the key or the plan does not allow it. */
  | "refused"
  /** The answer is not as documented. */
  | "malformed"
  /** The provider's clock and ours are far apart, so that times cannot be trusted. */
  | "clock"
  /** Our own store could not persist the answer. */
  | "unkept";

/** Maximum length of the message of a fault, in characters. */
const MAX_CHARACTERS = 300;

/** A request to a provider failed. The message is for the operator: one line, in which text of the
 *  provider is neutralized for terminals. */
export class ProviderFault extends Error {
  override readonly name = "ProviderFault";
  readonly kind: FaultKind;
  /** Pause that the provider asks for, in milliseconds; absent when it does not say. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: FaultKind, message: string, retryAfterMs?: number) {
    super(neutralText(message.slice(0, MAX_CHARACTERS)).replace(/\s+/g, " "));
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
