import { describe, expect, it } from "vitest";
import {
  type ClientRecord,
  clientGroup,
  clients,
} from "../../../../src/principals/agents/agent.ts";
import { UnclaimedCapacity } from "../../../../src/principals/agents/unclaimed-capacity.ts";
import { put } from "../../../../src/store/port/operations.ts";
import { collection } from "../../../../src/store/port/records.ts";
import { embedded, openStore, START } from "../../../support/stores.ts";

/** Capacity in agents, of which a network with one agent uses so little that it is protected. */
const CAPACITY = 100;

const DAY_MS = 86_400_000;

const tokens = collection<object>("oidc:ClientCredentials");

const clientOf = (site: string): ClientRecord => ({
  metadata: {},
  agent: { identityType: "anonymous", registeredAt: START - DAY_MS, site },
});

describe("an agent that is about to be evicted", () => {
  it.each([
    ["stays if each gets a token before the eviction is committed", 1],
    ["is removed if it gets none", 0],
  ])("%s", async (_, issued) => {
    const { records, clock } = await openStore(embedded);
    const sites = Array.from({ length: CAPACITY }, (_, at) => `site ${at}`);
    await records.commit(
      sites.map((site) => put(clients, { key: site, value: clientOf(site), ttlMs: DAY_MS })),
    );
    const racing: typeof records.commit = async (operations) => {
      const users = sites.slice(0, CAPACITY * issued);
      await records.commit(
        users.map((site) => put(tokens, { key: site, value: {}, groups: [clientGroup(site)] })),
      );
      return records.commit(operations);
    };
    const capacity = new UnclaimedCapacity({
      records: { ...records, commit: racing },
      now: () => new Date(clock.now),
      capacity: CAPACITY,
    });
    const admission = capacity.admit({
      clientId: "new",
      client: clientOf("site 0"),
      ttlMs: DAY_MS,
    });
    if (issued === 0) await admission;
    else await expect(admission).rejects.toMatchObject({ code: "rate_limited" });
    const left = await records.list(clients, { limit: 2 * CAPACITY });
    expect(left.length < CAPACITY).toBe(issued === 0);
  });
});
