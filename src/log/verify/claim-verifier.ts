import { CheckFailure } from "../../tree/check.ts";
import type { RegisteredClaim } from "../log-state.ts";
import { CLOCK_TOLERANCE_MS } from "./clock-tolerance.ts";
import type { LeafOf } from "./read-leaf.ts";

/**
 * First release that scores by the candidate: it departs from the candidate's rule, and makes a
 * claim.
 */
const DEPARTING_RELEASE = 2;

/** Whether a method is of a release that departs from the rule registered with the candidate. */
const isDeparting = ({ version = "" }: LeafOf<"method">): boolean =>
  Number.parseInt(version, 10) >= DEPARTING_RELEASE;

/**
 * Checks that a method that scores by the candidate quotes the rule from which it departs.
 *
 * @throws {CheckFailure} If it does not.
 */
export function checkDeparture(method: LeafOf<"method">): void {
  const { candidate, departure } = method;
  if (!isDeparting(method)) return;
  if (candidate !== undefined && departure?.includes(candidate.text)) return;
  throw new CheckFailure("scores by a candidate without quoting the rule from which it departs");
}

/**
 * Checks that what is claimed of a method was registered before the first run that judges it, and
 * not changed afterwards.
 */
export class ClaimVerifier {
  readonly #claims = new Map<string, RegisteredClaim>();
  /** Hashes of the methods that have runs. */
  readonly #run = new Set<string>();

  /** The claims, by method hash. */
  get claims(): ReadonlyMap<string, RegisteredClaim> {
    return this.#claims;
  }

  /**
   * Adds a claim.
   *
   * @param log.method The last method before the claim; `undefined` if the log no longer stores it.
   * @param log.isWhole Whether all entries before the claim are known.
   * @throws {CheckFailure} If it comes after a run that it judges, belongs to another method, or
   * contradicts an earlier claim about its method.
   */
  add(
    index: number,
    leaf: LeafOf<"claim">,
    log: { readonly method: LeafOf<"method"> | undefined; readonly isWhole: boolean },
  ): void {
    const { methodHash, registeredAt, assetClass, horizon, minDates, looks } = leaf;
    const { method, isWhole } = log;
    if (method !== undefined && method.methodHash !== methodHash) {
      throw new CheckFailure("claims something of another method than the one before it");
    }
    const terms = { registeredAt, assetClass, horizon, minDates, looks };
    const known = this.#claims.get(methodHash)?.terms;
    if (known !== undefined) {
      if (JSON.stringify(known) === JSON.stringify(terms)) return;
      throw new CheckFailure("claims something else than the first claim about its method");
    }
    if (isWhole && this.#run.has(methodHash)) {
      throw new CheckFailure("is a claim after a run that it judges");
    }
    // Outside the live market, the market's clock differs from the clock of the log.
    const isDatedLive = isWhole && method?.market === "live";
    if (isDatedLive && Math.abs(registeredAt - leaf.at) > CLOCK_TOLERANCE_MS) {
      throw new CheckFailure("counts its looks from another time than that of its entry");
    }
    this.#claims.set(methodHash, { index, terms });
  }

  /**
   * Adds a run.
   *
   * @param method The last method before the run.
   * @throws {CheckFailure} If its method makes a claim that is not registered.
   */
  addRun({ methodHash }: LeafOf<"run">, method: LeafOf<"method">): void {
    this.#run.add(methodHash);
    if (!isDeparting(method) || this.#claims.has(methodHash)) return;
    throw new CheckFailure("uses a method whose claim was not logged before");
  }
}
