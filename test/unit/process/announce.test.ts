import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { liveMarketLines, warnIfDiskIsFull } from "../../../src/process/announce.ts";
import { temporaryFolder } from "../../support/process.ts";
import { providerSetup } from "../../support/providers/states.ts";
import { standardErrorOf } from "../../support/standard-error.ts";

const DOCTOR = "market-signal doctor shows the state of each provider.";

it("the startup lines list the providers in use, missing settings, the access of unclaimed agents and terms of use", () => {
  const providers = [
    providerSetup("coinbase", { isForOwnUse: true }),
    providerSetup("kraken", { feeds: [], isForOwnUse: true }),
    providerSetup("alpaca", { feeds: [], missing: ["ID", "SECRET"] }),
    providerSetup("edgar", { feeds: [], missing: ["AGENT"] }),
    providerSetup("finra"),
  ];
  expect(liveMarketLines({ instruments: 39, unpriced: 27, providers }, [])).toEqual([
    "Follows 39 instruments by 2 providers: coinbase, finra.",
    "No provider has prices for 27, so they get no score.",
    "Not configured: alpaca needs ID, SECRET; edgar needs AGENT.",
    "Unclaimed agents get no access; ANONYMOUS_SCOPES allows more.",
    "The terms of coinbase allow their data for your own use only.",
    DOCTOR,
  ]);
});

it("the startup lines omit topics that do not apply", () => {
  const setup = { instruments: 1, unpriced: 0, providers: [providerSetup("coinbase")] };
  expect(liveMarketLines(setup, ["signals:read"])).toEqual([
    "Follows 1 instrument by 1 provider: coinbase.",
    DOCTOR,
  ]);
  const none = { instruments: 1, unpriced: 1, providers: [] };
  expect(liveMarketLines(none, ["signals:read"])[0]).toBe("Follows 1 instrument by no provider.");
});

it.runIf(process.platform === "linux")(
  "the warning of a full disk shows the name of its folder as text",
  async () => {
    const folder = join(temporaryFolder(), "\u001b[2J\u009b2J");
    symlinkSync("/proc", folder); // This file system never has room.
    const said = await standardErrorOf(() => warnIfDiskIsFull(folder));
    expect(said).toMatch(/^The disk of .*\ufffd\[2J\ufffd2J has 0 kB left: .+\n$/);
  },
);
