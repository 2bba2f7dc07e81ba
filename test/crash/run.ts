import { parseArgs } from "node:util";
import { channelKills, channelKillsOnPostgres } from "./channel-kills.ts";
import { databaseBlackHole, databaseRestarts, removalSeenByProcesses } from "./database.ts";
import { databaseOutage } from "./database-outage.ts";
import { diskFull } from "./disk-full.ts";
import { processKills } from "./kills.ts";
import { leaderFailover } from "./leader-failover.ts";
import { logKills, logKillsOnPostgres, logPowerCuts } from "./log-crashes.ts";
import { missedMeasures, type Outcome, table } from "./outcome.ts";
import { powerCuts } from "./power-cuts.ts";
import { rollingRestarts } from "./rolling-restart.ts";
import { serviceKills } from "./service-kills.ts";

const usage = `Crashes the store and the service in every way that this machine allows, and prints the results.

  npm run crash -- [--kills 50] [--power-cuts 20] [--seconds-full 60] [--seconds-swallowed 30]
                   [--service 10] [--restarts 6] [--log-kills 50] [--log-power-cuts 20]
                   [--channels 5] [--only <part of a name>]

  --kills, --log-kills, --power-cuts, --log-power-cuts, --service, --restarts   number of crashes or restarts
  --channels                                                                    number of cycles of six kills
  --seconds-full, --seconds-swallowed                                           duration of a full disk or an outage
  --only                                                                        scenarios whose name contains this

The exit code is 1 when a goal is missed or a scenario fails.
`;

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "50" },
    "power-cuts": { type: "string", default: "20" },
    "seconds-full": { type: "string", default: "60" },
    "seconds-swallowed": { type: "string", default: "30" },
    service: { type: "string", default: "10" },
    restarts: { type: "string", default: "6" },
    "log-kills": { type: "string", default: "50" },
    "log-power-cuts": { type: "string", default: "20" },
    channels: { type: "string", default: "5" },
    only: { type: "string", default: "" },
    help: { type: "boolean", default: false },
  },
});

/** The scenarios. The number in an option is a duration or a count. */
const scenarios: Readonly<Record<string, () => Promise<Outcome>>> = {
  kills: () => processKills(Number(values.kills)),
  "power-cuts": () => powerCuts(Number(values["power-cuts"])),
  "disk-full": () => diskFull(Number(values["seconds-full"])),
  "postgres-restarts": databaseRestarts,
  "postgres-black-hole": () => databaseBlackHole(Number(values["seconds-swallowed"])),
  "postgres-revocation": removalSeenByProcesses,
  "service-kills": () => serviceKills(Number(values.service)),
  "channel-kills": () => channelKills(Number(values.channels)),
  "channel-kills-postgres": () => channelKillsOnPostgres(Number(values.channels)),
  "rolling-restarts": () => rollingRestarts(Number(values.restarts)),
  "leader-failover": () => leaderFailover({ untilDelivered: true }),
  "log-kills": () => logKills(Number(values["log-kills"])),
  "log-kills-postgres": () => logKillsOnPostgres(Number(values["log-kills"])),
  "log-power-cuts": () => logPowerCuts(Number(values["log-power-cuts"])),
  "database-outage": () => databaseOutage(Number(values["seconds-swallowed"])),
};

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
await main();

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(usage);
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (!name.includes(values.only)) continue;
    const isMet = await tell(name, scenario);
    if (!isMet) process.exitCode = 1;
  }
}

/**
 * Runs a scenario and prints its outcome. @returns Whether every goal was met, or the scenario was
 * skipped.
 */
async function tell(name: string, scenario: () => Promise<Outcome>): Promise<boolean> {
  try {
    const outcome = await scenario();
    process.stdout.write(`${table(outcome)}\n\n`);
    return missedMeasures(outcome).length === 0;
  } catch (error) {
    process.stdout.write(
      `${name}\n  FAILED: ${error instanceof Error ? error.message : error}\n\n`,
    );
    return false;
  }
}
