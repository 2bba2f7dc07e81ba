import type { BaselineName } from "../baseline.ts";
import { NAMES, SERVICE } from "./field.ts";
import type { Effort, Goal, Row } from "./report.ts";
import { cpu, type Pace, type Rounds, ratioOf, throughput, typical } from "./rounds.ts";

/** How long the service and others take turns. */
export const paceOf = ({ isQuick }: Effort): Pace =>
  isQuick
    ? { rounds: 3, ms: 1_000, warmUpMs: 2_000, callers: 16 }
    : { rounds: 9, ms: 2_000, warmUpMs: 5_000, callers: 16 };

/** What the service's time of the processor for a call is to another's. */
export function cpuRow(what: string, rounds: Rounds, other: BaselineName, goal?: Goal): Row {
  const name = NAMES[other];
  return {
    ...{ budget: titleOf(what, rounds), figure: typical(rounds, SERVICE, cpu), unit: "us of CPU" },
    baseline: { name, figure: typical(rounds, name, cpu) },
    ratio: ratioOf(rounds, [SERVICE, name], cpu),
    ...(goal && { goal }),
  };
}

/** What the service's throughput is to another's. */
export function rateRow(what: string, rounds: Rounds, other: BaselineName, goal?: Goal): Row {
  const name = NAMES[other];
  return {
    ...{
      budget: titleOf(what, rounds),
      figure: typical(rounds, SERVICE, throughput),
      unit: "a second",
    },
    baseline: { name, figure: typical(rounds, name, throughput) },
    ratio: ratioOf(rounds, [SERVICE, name], throughput),
    ratioByCpu: ratioOf(rounds, [name, SERVICE], cpu),
    ...(goal && { goal }),
  };
}

/** A service that is kept from its processor by other work refuses calls, and others do not. */
function titleOf(what: string, rounds: Rounds): string {
  const refused = (rounds[SERVICE] ?? []).reduce((sum, round) => sum + round.refused, 0);
  return refused === 0 ? what : `${what} (${refused} refused)`;
}
