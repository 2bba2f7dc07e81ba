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

/** Opens a store for few records. */
async function open(most = { caller: 10, network: 20, total: 1_000 }) {
  const store = await openStore(embedded);
  const now = () => new Date(store.clock.now);
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
  /** Registers an alert from an address. */
  const alert = async (by: Awaited<ReturnType<typeof person>>, from: string) =>
    withCallerAddress(from, () => outcomeOf(createTestAlert(alerts, by, ALERT_WITH_POLLING)));
  return {
    ...store,
    person,
    alert,
    /** Registers alerts from an address until one is refused. @returns Number of alerts. */
    fill: async (by: Awaited<ReturnType<typeof person>>, from: string) => {
      for (let count = 0; ; count += 1) if ((await alert(by, from)) !== "stored") return count;
    },
    /** The text of the refusal of an alert. */
    refusal: (by: Awaited<ReturnType<typeof person>>) =>
      withCallerAddress(HOME, () => createTestAlert(alerts, by, ALERT_WITH_POLLING)).then(
        () => undefined,
        ({ detail, next, headers }) => ({ detail, next, headers }),
      ),
    /** Saves a watchlist from an address. */
    list: async (by: Awaited<ReturnType<typeof person>>, from: string) =>
      withCallerAddress(from, () =>
        outcomeOf(lists.save(by, { name: "Mine", change: "set", symbols: ["AAA"] })),
      ),
  };
}

describe("what free accounts store", () => {
  it("counts together for the network in which they were made, whatever it is and wherever they call from", async () => {
    const { person, fill, list } = await open();
    const home = hashAddress("198.51.100.0/24");
    const first = await person(home);
    expect(await list(first, PLATFORM)).toBe("stored");
    expect(await fill(first, HOME)).toBe(9);
    expect(await fill(await person(home), PLATFORM)).toBe(4);
    expect(await fill(await person(hashAddress("192.0.2.0/24")), HOME)).toBe(10);
  });

  it("counts for the network of the call where that of the account is not known", async () => {
    const { person, fill } = await open();
    expect(await fill(await person(), HOME)).toBe(10);
    expect(await fill(await person(), HOME)).toBe(4);
    expect(await fill(await person(), PLATFORM)).toBe(10);
  });

  it("leaves room in the network for others, however much ten accounts take", async () => {
    const { person, fill, list } = await open({ caller: 40, network: 400, total: 20_000 });
    const taken = [];
    for (let at = 0; at < 10; at += 1) taken.push(await fill(await person("a"), HOME));
    expect(taken).toEqual([40, 34, 28, 24, 20, 18, 16, 14, 12, 11]);
    const honest = await person("a");
    expect(await list(honest, HOME)).toBe("stored");
    expect(await fill(honest, HOME)).toBe(9);
  });

  it("leaves four to each account of a network that is full, and says what others have and what helps", async () => {
    const { person, fill, refusal } = await open();
    for (let at = 0; at < 8; at += 1) await fill(await person("a"), HOME);
    const late = await person("a");
    expect(await fill(late, HOME)).toBe(4);
    expect(await refusal(late)).toEqual({
      detail: expect.stringMatching(/^You have 4 alerts.*Others .* your network/),
      next: expect.stringMatching(/^Remove one of yours, or ask the operator/),
      headers: {},
    });
  });

  it("is bounded in total, with a fifth for networks that have nothing", async () => {
    const { person, alert, refusal, clock } = await open({ caller: 2, network: 3, total: 10 });
    const of = (network: string) => person(network);
    for (const network of ["a", "a", "a", "b", "b", "b", "c", "c"]) {
      expect(await alert(await of(network), HOME)).toBe("stored");
      clock.now += 60_000;
    }
    expect(await alert(await of("c"), HOME)).toBe("alert_limit");
    expect(await alert(await of("d"), HOME)).toBe("stored");
    expect(await alert(await of("e"), HOME)).toBe("stored");
    clock.now += 60_000;
    expect(await refusal(await of("f"))).toEqual({
      detail: expect.stringContaining("The service has as many"),
      next: expect.stringContaining("Ask the operator"),
      headers: {},
    });
  });
});
