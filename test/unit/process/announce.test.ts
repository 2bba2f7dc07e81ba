import { expect, it } from "vitest";
import { liveMarketLines } from "../../../src/process/announce.ts";
import { provider } from "../../support/providers/states.ts";

const DOCTOR = "market-signal doctor says how each provider is doing.";

it("says who is followed by whom, what is lacking, and who gets nothing", () => {
  const providers = [
    provider("coinbase", { isForOwnUse: true }),
    provider("kraken", { feeds: [], isForOwnUse: true }),
    provider("alpaca", { feeds: [], missing: ["ID", "SECRET"] }),
    provider("edgar", { feeds: [], missing: ["AGENT"] }),
    provider("finra"),
  ];
  expect(liveMarketLines({ instruments: 39, unpriced: 27, providers }, [])).toEqual([
    "Follows 39 instruments by 2 providers: coinbase, finra.",
    "No provider is asked for the prices of 27, so they get no score.",
    "Not configured: alpaca needs ID, SECRET; edgar needs AGENT.",
    "Agents that nobody answers for get nothing; ANONYMOUS_SCOPES allows more.",
    "Only you may use what comes from coinbase, by their terms.",
    DOCTOR,
  ]);
});

it("says no more than there is to say", () => {
  const setup = { instruments: 1, unpriced: 0, providers: [provider("coinbase")] };
  expect(liveMarketLines(setup, ["signals:read"])).toEqual([
    "Follows 1 instrument by 1 provider: coinbase.",
    DOCTOR,
  ]);
  const none = { instruments: 1, unpriced: 1, providers: [] };
  expect(liveMarketLines(none, ["signals:read"])[0]).toBe("Follows 1 instrument by no provider.");
});
