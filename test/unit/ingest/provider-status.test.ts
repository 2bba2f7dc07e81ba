import { expect, it } from "vitest";
import { readLiveHealth } from "../../../src/ingest/provider-status.ts";
import {
  answeringProgress,
  faultOf,
  followedStore,
  providerSetup,
} from "../../support/providers/states.ts";
import { model, openStore, START } from "../../support/stores.ts";

const lacking = async (...of: Parameters<typeof followedStore>) =>
  readLiveHealth({ ...(await followedStore(...of)), now: () => START });

it("the health of live markets does not list providers that are healthy or not selected", async () => {
  const found = await lacking(
    [
      providerSetup("one"),
      providerSetup("two", { feeds: [] }),
      providerSetup("three", { missing: ["KEY"] }),
    ],
    { one: answeringProgress, three: answeringProgress, two: { failures: 3, ...faultOf(3) } },
  );
  expect(found).toEqual({ ok: true, isAnswered: true, detail: "2 of 2 providers answer" });
});

it("the health of live markets lists providers with a current fault, and providers that have not yet answered", async () => {
  const found = await lacking(
    ["well", "failing", "unread", "new", "mended"].map((id) => providerSetup(id)),
    {
      well: answeringProgress,
      failing: { ...answeringProgress, ...faultOf(200), failures: 1 },
      unread: { ...answeringProgress, ...faultOf(5) },
      mended: { ...answeringProgress, ...faultOf(95) },
    },
  );
  expect(found).toEqual({
    ok: true,
    isAnswered: true,
    detail: [
      "2 of 5 providers answer",
      "failing: failing",
      "unread: failing",
      "new: no answer yet",
    ].join("; "),
  });
});

it("the live market is not ready before the first observation, and stays ready afterwards despite failures", async () => {
  const providers = [providerSetup("one"), providerSetup("two")];
  const empty = { lastSuccessAt: START };
  const fault = { failures: 9, ...faultOf(1) };
  expect(await lacking(providers, { one: fault })).toMatchObject({ ok: false });
  expect(await lacking(providers, { one: empty, two: empty })).toMatchObject({ ok: false });
  expect(await lacking(providers, { two: { ...answeringProgress, ...fault } })).toMatchObject({
    ok: true,
    isAnswered: false,
  });
});

it("the health of live markets lists missing settings when no provider is usable", async () => {
  const locked = providerSetup("locked", { feeds: [], missing: ["ID", "SECRET"] });
  expect(await lacking([locked, providerSetup("left-out", { feeds: [] })])).toEqual({
    ok: false,
    isAnswered: false,
    detail: "0 of 0 providers answer; locked needs ID, SECRET",
  });
  const never = await readLiveHealth({ ...(await openStore(model)), now: () => START });
  expect(never).toEqual({ ok: false, isAnswered: false, detail: "0 of 0 providers answer" });
});
