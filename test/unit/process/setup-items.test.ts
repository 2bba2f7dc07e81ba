import { describe, expect, it } from "vitest";
import {
  nextSetupItem,
  type SetupFacts,
  setupItems,
} from "../../../src/http/pages/operator/setup-items.ts";

/** Facts of a completely configured service. */
const READY: SetupFacts = {
  baseUrl: "https://signals.example",
  market: { mode: "live", instruments: 27, asOf: "2026-11-21T14:00:00.000Z" },
  missingProviders: [],
  mailFrom: "signals@example.com",
  signUp: "applications",
  engine: "postgres",
  folder: "/var/lib/market-signal",
  isMasterKeySet: true,
  hasLog: true,
  isLogSigned: true,
  backupAgeMs: 3_600_000,
  hasWitnesses: true,
  hasMetrics: true,
  proxyHops: 1,
  faults: [],
};

const stateOf = (changes: Partial<SetupFacts>, name: string) =>
  setupItems({ ...READY, ...changes }).find((item) => item.name === name);

describe("the operator's setup list", () => {
  it("has nothing to do when everything is done", () => {
    expect(setupItems(READY).filter(({ state }) => state !== "done")).toEqual([]);
    expect(nextSetupItem(setupItems(READY))).toBeUndefined();
  });

  it("names the command for a log that is not signed, and for no other fault", () => {
    const faults = [
      { name: "log", detail: "not signed: 9 leaves were signed and the store has 5" },
      { name: "deliveries", detail: "late" },
    ];
    const items = setupItems({ ...READY, isLogSigned: false, faults });
    expect(items.map(({ command }) => command).slice(0, 2)).toEqual([
      "market-signal admin log new",
      undefined,
    ]);
    const [witness] = setupItems({ ...READY, faults: faults.slice(0, 1) });
    expect(witness?.command).toBeUndefined();
  });

  it.each([
    [{ baseUrl: "http://127.0.0.1:3000" }, "Address", "todo", "BASE_URL"],
    [{ baseUrl: "http://signals.example" }, "Address", "todo", "https"],
    [{ proxyHops: 0 }, "Address", "advice", "TRUST_PROXY"],
    [{ mailFrom: undefined }, "Email", "todo", "SMTP_URL"],
    [{ isMasterKeySet: false }, "Master key", "todo", "MASTER_KEY"],
    [{ signUp: "open" as const }, "Sign-up", "advice", "SIGN_UP"],
    [{ hasWitnesses: false }, "Witnesses", "advice", "WITNESSES"],
    [{ backupAgeMs: undefined }, "Backups", "advice", "store drill"],
    [{ backupAgeMs: 130_000_000 }, "Backups", "advice", "store drill"],
    [{ hasMetrics: false }, "Metrics", "advice", "METRICS_PORT"],
    [{ missingProviders: ["alpaca needs ALPACA_KEY_ID"] }, "Market", "advice", "provider"],
    [{ market: { ...READY.market, mode: "sandbox" as const } }, "Market", "advice", "MARKET=live"],
    [{ market: { ...READY.market, instruments: 0 } }, "Market", "todo", "providers"],
  ])("with %j lists %s as %s and says what to set", (changes, name, state, words) => {
    const item = stateOf(changes, name);
    expect(item?.state).toBe(state);
    expect(item?.next).toContain(words);
  });

  it("lists a fault before every other item", () => {
    const faults = [{ name: "store", detail: "the disk is full" }];
    expect(nextSetupItem(setupItems({ ...READY, mailFrom: undefined, faults }))).toMatchObject({
      name: "Component store",
      state: "fault",
      is: "the disk is full",
    });
    expect(nextSetupItem(setupItems({ ...READY, mailFrom: undefined }))?.name).toBe("Email");
    expect(
      nextSetupItem(setupItems(READY).filter(({ state }) => state === "done")),
    ).toBeUndefined();
  });
});
