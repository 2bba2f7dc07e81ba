import type { Vault } from "../keys/vault.ts";

/**
 * Lifetime of an operator link, in milliseconds; short, because links end up in terminals and proxy
 * logs.
 */
export const OPERATOR_LINK_LIFETIME_MS = 10 * 60_000;

/** Lifetime of an operator's visit in a browser, in milliseconds. */
export const OPERATOR_VISIT_LIFETIME_MS = 60 * 60_000;

/**
 * Sealing contexts of the two kinds of passes, so that a pass of one kind is never accepted as a
 * pass of the other kind.
 */
const LINK = "operator-link";
const VISIT = "operator-visit";

/**
 * Passes for the operator page: a link pass opens the page, and a visit pass keeps it open in the
 * browser. A pass is its expiry time, sealed with the store's keys. Anyone who can create a pass
 * can therefore already read in the store everything that the page shows.
 */
export class OperatorAccess {
  readonly #vault: Vault;
  readonly #now: () => number;

  /** @param now Returns the time in milliseconds since the epoch. */
  constructor(vault: Vault, now: () => number) {
    this.#vault = vault;
    this.#now = now;
  }

  /** A pass for the link that starts a visit. */
  newLink(): string {
    return this.#seal(OPERATOR_LINK_LIFETIME_MS, LINK);
  }

  /** A pass for a browser in which a link was opened. */
  newVisit(): string {
    return this.#seal(OPERATOR_VISIT_LIFETIME_MS, VISIT);
  }

  /** Whether a text is a link pass that has not expired. */
  isLink(text: string): boolean {
    return this.#isOpen(text, LINK);
  }

  /** Whether a text is a visit pass that has not expired. */
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
