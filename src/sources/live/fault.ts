import { neutralizeText } from "../../outbound/neutral-text.ts";

/** Kinds of faults, by the reaction that they require. */
export type ProviderFaultKind =
  /** No connection, no answer in time, or an answer that was cut off. */
  | "unreachable"
  /** The provider limits our request rate (429 or an equivalent). */
  | "limited"
  /** The provider fails (5xx). */
  | "failing"
  /** The provider refuses access: the key or the plan does not allow it. */
  | "refused"
  /** The answer does not have the documented form. */
  | "malformed"
  /** The provider's clock and ours are far apart, so that times cannot be trusted. */
  | "clock"
  /** Our own store could not persist the answer. */
  | "unkept";

/** Maximum length of the message of a fault, in characters. */
const MAX_CHARACTERS = 300;

/**
 * A failed request to a provider. The message is for the operator: one line, in which text from the
 * provider is made safe for terminals.
 */
export class ProviderFault extends Error {
  override readonly name = "ProviderFault";
  readonly kind: ProviderFaultKind;
  /** Pause that the provider asks for, in milliseconds; `undefined` if it asks for none. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: ProviderFaultKind, message: string, retryAfterMs?: number) {
    super(neutralizeText(message.slice(0, MAX_CHARACTERS)).replace(/\s+/g, " "));
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}
