import { parseArgs } from "node:util";
import { type DeliveryStorm, deliveryStorm } from "../crash/deliveries.ts";
import { missedMeasures, table } from "../crash/outcome.ts";

const usage = `Sends events to ten receivers, three of which are faulty, and prints the results.

  node test/bench/deliveries.ts [--events 10000] [--per-second 200] [--to-all] [--only <part of a name>]

  --events      number of events
  --per-second  events per second
  --to-all      sends each event to every receiver instead of one
  --only        loads whose name contains this

The exit code is 1 when a goal is missed.
`;

const { values } = parseArgs({
  options: {
    events: { type: "string", default: "10000" },
    "per-second": { type: "string", default: "200" },
    "to-all": { type: "boolean", default: false },
    only: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});

const size = {
  events: Number(values.events),
  perSecond: Number(values["per-second"]),
  to: values["to-all"] ? ("all" as const) : ("one" as const),
};

const one = { engine: "embedded", workers: 1 } as const;
const three = { engine: "postgres", workers: 3 } as const;
const calm = { kill: "none", goals: { p99Ms: 250, memoryMb: 50 } } as const;
/** Load at a steady rate of 100 deliveries per second. */
const steady = {
  events: 3_000,
  perSecond: 100,
  to: "one",
  kill: "none",
  goals: { p99Ms: 100, memoryMb: 50 },
} as const;

const storms: Readonly<Record<string, DeliveryStorm>> = {
  "steady-embedded": { ...one, ...steady },
  "steady-postgres": { ...three, ...steady },
  "storm-embedded": { ...one, ...size, ...calm },
  "storm-postgres": { ...three, ...size, ...calm },
  "kill-embedded": { ...one, ...size, kill: "all" },
  "kill-postgres": { ...three, ...size, kill: "one" },
};

if (values.help) process.stdout.write(usage);
else await main();

async function main(): Promise<void> {
  for (const [name, storm] of Object.entries(storms)) {
    if (!name.includes(values.only)) continue;
    const outcome = await deliveryStorm(storm);
    process.stdout.write(`${table(outcome)}\n\n`);
    if (missedMeasures(outcome).length > 0) process.exitCode = 1;
  }
}
