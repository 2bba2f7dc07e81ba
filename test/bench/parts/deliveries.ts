import { deliveryStorm } from "../../crash/deliveries.ts";
import { missedMeasures } from "../../crash/outcome.ts";
import { showProgress } from "../harness/progress.ts";
import type { Effort, Part } from "../harness/report.ts";

/**
 * Goal for the 99th percentile of the delivery time at 100 deliveries per second, in milliseconds.
 */
const P99_MS = 100;
const PER_SECOND = 100;

/** Sends webhooks for a steady stream of events to ten receivers, three of which are faulty. */
export async function deliveries({ isQuick }: Effort): Promise<Part> {
  const events = isQuick ? 500 : 3_000;
  showProgress(
    `Sending ${events} deliveries, ${PER_SECOND} a second, for slightly more than ${events / PER_SECOND} s`,
  );
  const outcome = await deliveryStorm({
    ...{ engine: "embedded", workers: 1, events, perSecond: PER_SECOND, to: "one", kill: "none" },
    goals: { p99Ms: Number.POSITIVE_INFINITY, memoryMb: 50 },
  });
  const [first] = missedMeasures(outcome);
  if (first !== undefined) throw new Error(first);
  const rows = outcome.measures
    .filter(({ unit, value }) => unit === "ms" && Number.isFinite(value))
    .map(({ name, value }) => ({
      ...{ budget: `webhooks at ${PER_SECOND} a second: ${name}`, figure: value, unit: "ms" },
      ...(name.endsWith("p99") && { goal: { most: P99_MS } }),
    }));
  return { rows, raw: outcome.measures };
}
