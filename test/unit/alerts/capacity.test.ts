import { describe, expect, it } from "vitest";
import { withCallerAddress } from "../../../src/access/auditor.ts";
import { AlertService } from "../../../src/alerts/api/alert-service.ts";
import { AlertCapacity } from "../../../src/alerts/capacity.ts";
import { WatchlistService } from "../../../src/alerts/watchlists/watchlists.ts";
import { accounts } from "../../../src/principals/accounts/accounts.ts";
import { put } from "../../../src/store/port/operations.ts";
import {
  ALERT_WITH_POLLING,
  alertDependencies,
  createTestAlert,
  newPerson,
} from "../../support/alert-service.ts";
import { embedded, openStore } from "../../support/stores.ts";

const [HOME, PLATFORM] = ["198.51.100.7", "203.0.113.7"];

const hashAddress = (address: string) => `hash of ${address}`;

/** Opens a store for at most three records of a network and ten in total. */
async function open() {
  const store = await openStore(embedded);
  const now = () => new Date(store.clock.now);
  const most = { caller: 2, network: 3, total: 10 };
  const capacity = new AlertCapacity({ records: store.records, hashAddress, now, most });
  const dependencies = { ...alertDependencies(store), capacity };
  const [alerts, lists] = [new AlertService(dependencies), new WatchlistService(dependencies)];
  let people = 0;
  /** A person whose account was made in a network, if one is given. */
  const person = async (network?: string) => {
    people += 1;
    const id = `acc_${people}`;
    const caller = await newPerson(store.records, id);
    const kept = await store.records.get(accounts, id);
    const value = { label: id, createdAt: 0, ...kept?.value, ...(network && { network }) };
    await store.records.commit([put(accounts, { key: id, value, groups: kept?.groups ?? [] })]);
    return caller;
  };
  const outcomeOf = (made: Promise<unknown>) =>
    made.then(
      () => "stored",
      ({ code }) => code,
    );
  return {
    ...store,
    person,
    /** Registers an alert from an address. */
    alert: async (by: Awaited<ReturnType<typeof person>>, from: string) =>
      withCallerAddress(from, () => outcomeOf(createTestAlert(alerts, by, ALERT_WITH_POLLING))),
    /** Saves a watchlist from an address. */
    list: async (by: Awaited<ReturnType<typeof person>>, from: string) =>
      withCallerAddress(from, () =>
        outcomeOf(lists.save(by, { name: "Mine", change: "set", symbols: ["AAA"] })),
      ),
  };
}

describe("what free accounts store", () => {
  it("counts together for the network in which they were made, whatever it is and wherever they call from", async () => {
    const { person, alert, list } = await open();
    const home = hashAddress("198.51.100.0/24");
    expect(await alert(await person(home), HOME)).toBe("stored");
    expect(await list(await person(home), PLATFORM)).toBe("stored");
    expect(await alert(await person(home), "192.0.2.1")).toBe("stored");
    expect(await alert(await person(home), "192.0.2.2")).toBe("rate_limited");
    expect(await list(await person(home), "192.0.2.2")).toBe("rate_limited");
    expect(await alert(await person(hashAddress("192.0.2.0/24")), HOME)).toBe("stored");
  });

  it("counts for the network of the call where that of the account is not known", async () => {
    const { person, alert } = await open();
    for (let at = 0; at < 3; at += 1) expect(await alert(await person(), HOME)).toBe("stored");
    expect(await alert(await person(), HOME)).toBe("rate_limited");
    expect(await alert(await person(), PLATFORM)).toBe("stored");
  });

  it("is bounded in total, with a fifth for networks that have nothing", async () => {
    const { person, alert, clock } = await open();
    const of = (network: string) => person(network);
    for (const network of ["a", "a", "a", "b", "b", "b", "c", "c"]) {
      expect(await alert(await of(network), HOME)).toBe("stored");
      clock.now += 10_000;
    }
    expect(await alert(await of("c"), HOME)).toBe("rate_limited");
    expect(await alert(await of("d"), HOME)).toBe("stored");
    expect(await alert(await of("e"), HOME)).toBe("stored");
    clock.now += 10_000;
    expect(await alert(await of("f"), HOME)).toBe("rate_limited");
  });
});
