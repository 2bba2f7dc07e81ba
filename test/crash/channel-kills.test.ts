// @module-tag full

import { expect, it } from "vitest";
import { channelKills } from "./channel-kills.ts";
import { missed } from "./outcome.ts";

it("processes that are killed while they send to channels lose no event, and no digest has one twice", {
  timeout: 300_000,
}, async () => {
  expect(missed(await channelKills(1))).toEqual([]);
});
