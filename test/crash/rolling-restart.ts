import { setTimeout as pause } from "node:timers/promises";
import { freePort } from "../support/free-port.ts";
import { printFailures, startCallers } from "./callers.ts";
import type { Cluster } from "./cluster.ts";
import { startListener } from "./listeners.ts";
import { onCluster } from "./on-cluster.ts";
import type { Measure, Outcome } from "./outcome.ts";

/**
 * Number of callers that keep their connection, number of callers that open a connection for each
 * request, and pause of a caller in milliseconds.
 */
const CALLERS = { keeping: 60, fresh: 12, pauseMs: 700 };

/** Number of open event streams. */
const STREAMS = 3;

/** Duration of the load before and after each restart, in milliseconds. */
const CALM_MS = 500;

/** Goal for the time from SIGTERM to the exit of a process, in milliseconds. */
const EXIT_MS = 10_000;

/** Replaces the process that serves a port, repeatedly and under load. */
export function rollingRestarts(rounds: number): Promise<Outcome> {
  return onCluster("rolling restarts under load", {}, (cluster) => restart(cluster, rounds));
}

async function restart(cluster: Cluster, rounds: number): Promise<readonly Measure[]> {
  const PORT = await freePort();
  let current = await cluster.start({ PORT });
  const { base } = current;
  const key = await cluster.newKey("signals:read alerts:write");
  const callers = startCallers({ base, key, ...CALLERS });
  const listeners = Array.from({ length: STREAMS }, () => startListener(base, key));
  const exits: number[] = [];
  let unclean = 0;
  for (let round = 0; round < rounds; round += 1) {
    const next = await cluster.start({ PORT });
    await pause(CALM_MS);
    const { code, ms } = await current.stop();
    exits.push(ms);
    if (code !== 0) unclean += 1;
    current = next;
    await pause(CALM_MS);
  }
  await callers.stop();
  const broken = await Promise.all(listeners.map((listener) => listener.leave()));
  return [
    { name: "restarts", value: rounds },
    { name: "requests answered", value: callers.answered(), least: rounds * 50 },
    { name: "requests failed", value: printFailures(callers), most: 0 },
    {
      name: "event streams ended normally",
      value: sum(broken.map(({ ended }) => ended)),
      least: 1,
    },
    { name: "event streams cut or refused", value: sum(broken.map(({ cut }) => cut)), most: 0 },
    { name: "SIGTERM to exit, longest", unit: "ms", value: Math.max(...exits), most: EXIT_MS },
    { name: "processes that exited with an error", value: unclean, most: 0 },
  ];
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
