import type { BaselineName } from "../baseline.ts";
import { NAMES, SERVICE } from "./field.ts";
import type { Effort, Goal, Row } from "./report.ts";
import {
  cpuMicrosPerRequest,
  medianOfRounds,
  type Pace,
  type Rounds,
  ratioOf,
  requestsPerSecond,
} from "./rounds.ts";

/** Number and length of the rounds in which the service and its competitors are measured. */
export const paceOf = ({ isQuick }: Effort): Pace =>
  isQuick
    ? { rounds: 3, ms: 1_000, warmUpMs: 2_000, callers: 16 }
    : { rounds: 9, ms: 2_000, warmUpMs: 5_000, callers: 16 };

/** A table row with the service's CPU time per call, and its ratio to that of another server. */
export function cpuRow(what: string, rounds: Rounds, other: BaselineName, goal?: Goal): Row {
  const name = NAMES[other];
  return {
    ...{
      budget: titleOf(what, rounds),
      figure: medianOfRounds(rounds, SERVICE, cpuMicrosPerRequest),
      unit: "us of CPU",
    },
    baseline: { name, figure: medianOfRounds(rounds, name, cpuMicrosPerRequest) },
    ratio: ratioOf(rounds, [SERVICE, name], cpuMicrosPerRequest),
    ...(goal && { goal }),
  };
}

/** A table row with the service's throughput, and its ratio to that of another server. */
export function rateRow(what: string, rounds: Rounds, other: BaselineName, goal?: Goal): Row {
  const name = NAMES[other];
  return {
    ...{
      budget: titleOf(what, rounds),
      figure: medianOfRounds(rounds, SERVICE, requestsPerSecond),
      unit: "a second",
    },
    baseline: { name, figure: medianOfRounds(rounds, name, requestsPerSecond) },
    ratio: ratioOf(rounds, [SERVICE, name], requestsPerSecond),
    ratioByCpu: ratioOf(rounds, [name, SERVICE], cpuMicrosPerRequest),
    ...(goal && { goal }),
  };
}

/**
 * When other processes take its CPU, the service sheds load with 503, unlike the other servers, so
 * the title shows the number of refusals.
 */
function titleOf(what: string, rounds: Rounds): string {
  const refused = (rounds[SERVICE] ?? []).reduce((sum, round) => sum + round.refused, 0);
  return refused === 0 ? what : `${what} (${refused} refused)`;
}
