import { describe, expect, it } from "vitest";
import { createMemoryAdapter } from "../../../src/auth/memory-adapter.ts";

const START = Date.parse("2026-01-05T12:00:00Z");

function build() {
  const clock = { ms: START };
  return { clock, adapterFor: createMemoryAdapter(() => new Date(clock.ms)) };
}

describe("the memory adapter", () => {
  it("hands out fresh objects and keeps none that was handed in", async () => {
    const tokens = build().adapterFor("ClientCredentials");
    const payload = { clientId: "a", scope: "signals:read" };
    await tokens.upsert("t", payload, 60);
    payload.scope = "alerts:write";
    const first = await tokens.find("t");
    Object.assign(first ?? {}, { scope: "alerts:write" });

    expect(await tokens.find("t")).toEqual({ clientId: "a", scope: "signals:read" });
  });

  it("keeps models apart", async () => {
    const { adapterFor } = build();
    await adapterFor("AccessToken").upsert("t", { clientId: "a" }, 60);

    expect(await adapterFor("ClientCredentials").find("t")).toBeUndefined();
  });

  it("forgets an entry at its expiry and keeps one that has none", async () => {
    const { clock, adapterFor } = build();
    await adapterFor("ClientCredentials").upsert("t", { clientId: "a" }, 60);
    await adapterFor("Client").upsert("a", { client_id: "a" });

    clock.ms = START + 59_999;
    expect(await adapterFor("ClientCredentials").find("t")).toBeDefined();
    clock.ms = START + 60_000;
    expect(await adapterFor("ClientCredentials").find("t")).toBeUndefined();
    clock.ms = START + 1e12;
    expect(await adapterFor("Client").find("a")).toEqual({ client_id: "a" });
  });

  it("really removes what has expired as others are written", async () => {
    const { clock, adapterFor } = build();
    const tokens = adapterFor("ClientCredentials");
    for (const id of ["1", "2", "3"]) await tokens.upsert(id, { clientId: "a" }, 60);
    clock.ms = START + 60_000;
    for (const id of ["4", "5", "6", "7"]) await tokens.upsert(id, { clientId: "a" }, 60);

    clock.ms = START;
    expect(await tokens.find("1")).toBeUndefined();
    expect(await tokens.find("4")).toBeDefined();
  });

  it("lets exactly one of a hundred concurrent uses win", async () => {
    const codes = build().adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    const uses = await Promise.allSettled(Array.from({ length: 100 }, () => codes.consume("c")));

    expect(uses.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(uses.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { error: "invalid_grant" },
    });
    expect(await codes.find("c")).toMatchObject({ consumed: START / 1000 });
  });

  it("does not make a used entry usable again by saving it", async () => {
    const codes = build().adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    await codes.consume("c");
    await codes.upsert("c", { clientId: "a" }, 60);

    await expect(codes.consume("c")).rejects.toMatchObject({ error: "invalid_grant" });
  });

  it("refuses to use an unknown or expired entry", async () => {
    const { clock, adapterFor } = build();
    const codes = adapterFor("AuthorizationCode");
    await codes.upsert("c", { clientId: "a" }, 60);
    clock.ms = START + 60_000;

    await expect(codes.consume("c")).rejects.toMatchObject({ error: "invalid_grant" });
    await expect(codes.consume("none")).rejects.toMatchObject({ error: "invalid_grant" });
  });

  it("records a replay key once while it lives", async () => {
    const { clock, adapterFor } = build();
    const seen = adapterFor("ReplayDetection");
    const writes = await Promise.allSettled(
      Array.from({ length: 100 }, () => seen.upsert("jti", { iss: "a" }, 60)),
    );
    expect(writes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);

    clock.ms = START + 60_000;
    await seen.upsert("jti", { iss: "a" }, 60);
  });

  it("drops everything issued to a client together with the client", async () => {
    const { adapterFor } = build();
    await adapterFor("Client").upsert("a", { client_id: "a" });
    await adapterFor("ClientCredentials").upsert("mine", { clientId: "a" }, 60);
    await adapterFor("RegistrationAccessToken").upsert("rat", { clientId: "a" });
    await adapterFor("ClientCredentials").upsert("other", { clientId: "b" }, 60);
    await adapterFor("Client").destroy("a");

    expect(await adapterFor("Client").find("a")).toBeUndefined();
    expect(await adapterFor("ClientCredentials").find("mine")).toBeUndefined();
    expect(await adapterFor("RegistrationAccessToken").find("rat")).toBeUndefined();
    expect(await adapterFor("ClientCredentials").find("other")).toBeDefined();
  });

  it("drops what belongs to a grant and leaves the rest", async () => {
    const { adapterFor } = build();
    await adapterFor("AccessToken").upsert("1", { grantId: "g" }, 60);
    await adapterFor("RefreshToken").upsert("2", { grantId: "g" }, 60);
    await adapterFor("AccessToken").upsert("3", { grantId: "h" }, 60);
    await adapterFor("AccessToken").revokeByGrantId("g");

    expect(await adapterFor("AccessToken").find("1")).toBeUndefined();
    expect(await adapterFor("RefreshToken").find("2")).toBeUndefined();
    expect(await adapterFor("AccessToken").find("3")).toBeDefined();
  });

  it("finds a session by uid and a device code by user code, under their newest values", async () => {
    const { adapterFor } = build();
    await adapterFor("Session").upsert("s", { uid: "u1" }, 60);
    await adapterFor("Session").upsert("s", { uid: "u2" }, 60);
    await adapterFor("DeviceCode").upsert("d", { userCode: "ABCD" }, 60);

    expect(await adapterFor("Session").findByUid("u1")).toBeUndefined();
    expect(await adapterFor("Session").findByUid("u2")).toEqual({ uid: "u2" });
    expect(await adapterFor("DeviceCode").findByUserCode("ABCD")).toEqual({ userCode: "ABCD" });
  });
});
