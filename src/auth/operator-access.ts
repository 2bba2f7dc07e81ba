import type { Vault } from "../store/keys/vault.ts";

/** Lifetime of a link, in milliseconds; short, because links end up in terminals and proxy logs. */
export const OPERATOR_LINK_MS = 10 * 60_000;

/** Lifetime of a visit, in milliseconds. */
export const OPERATOR_VISIT_MS = 60 * 60_000;

/** Contexts of the passes, so that one is never good for the other. */
const LINK = "operator-link";
const VISIT = "operator-visit";

/** Passes of the operator: sealed instants of expiry. Sealing needs the keys of the store, so
 *  whoever can create a pass can already read in the store what the pass shows. */
export class OperatorAccess {
  readonly #vault: Vault;
  readonly #now: () => number;

  /** @param now Unix milliseconds. */
  constructor(vault: Vault, now: () => number) {
    this.#vault = vault;
    this.#now = now;
  }

  /** A pass for a link, which begins a visit. */
  newLink(): string {
    return this.#seal(OPERATOR_LINK_MS, LINK);
  }

  /** A pass for a browser that opened a link. */
  newVisit(): string {
    return this.#seal(OPERATOR_VISIT_MS, VISIT);
  }

  /** Whether a text is the pass of a link that has not expired. */
  isLink(text: string): boolean {
    return this.#isOpen(text, LINK);
  }

  /** Whether a text is the pass of a visit that has not expired. */
  isVisit(text: string): boolean {
    return this.#isOpen(text, VISIT);
  }

  #seal(lifetimeMs: number, context: string): string {
    return this.#vault.seal(String(this.#now() + lifetimeMs), context);
  }

  #isOpen(text: string, context: string): boolean {
    try {
      return Number(this.#vault.open(text, context)) > this.#now();
    } catch {
      return false;
    }
  }
}
