// @module-tag full

import { describe, expect, it } from "vitest";
import { postgresAvailable } from "../support/postgres.ts";
import { channelKills, channelKillsOnPostgres } from "./channel-kills.ts";
import { missed } from "./outcome.ts";

describe("processes that are killed while they send to channels lose no event, and no digest has one twice", () => {
  it("on the embedded store", { timeout: 300_000 }, async () => {
    expect(missed(await channelKills(1))).toEqual([]);
  });

  it.skipIf(!postgresAvailable)("on PostgreSQL", { timeout: 300_000 }, async () => {
    expect(missed(await channelKillsOnPostgres(1))).toEqual([]);
  });
});
