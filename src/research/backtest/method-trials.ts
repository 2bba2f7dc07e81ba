import methodTrials from "../../score/method-trials.json" with { type: "json" };
import { deflatedTThreshold } from "./verdict.ts";

/** The variants that were tried before the method was chosen, in the order of the rounds. */
export interface MethodTrials {
  /** Variants of the search, before registration. */
  readonly searched: number;
  /** Looks at data that nobody had seen, registered beforehand. */
  readonly registered: number;
  /** |t| that the best of the variants of the search reaches by luck in 5 % of cases at most. */
  readonly tThreshold: number;
}

/** Counts the variants of `method-trials.json`, the file that travels with the method. */
export function readMethodTrials(): MethodTrials {
  const [search, ...looks] = methodTrials.rounds;
  const searched = search?.variants ?? 0;
  const registered = looks.reduce((sum, { variants }) => sum + variants, 0);
  return { searched, registered, tThreshold: deflatedTThreshold(Math.max(1, searched)) };
}
