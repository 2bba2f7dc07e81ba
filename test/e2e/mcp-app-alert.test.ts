// @module-tag full

import { describe, expect, it } from "vitest";
import { registerAlert } from "../../tools/register-alert.ts";
import { register, tokenOf } from "../support/agent.ts";
import type { ShownApp } from "../support/app-host.ts";
import {
  startAppService,
  type ToolResult,
  viewText,
  waitUntilSettled,
} from "../support/app-service.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { resultOf } from "../support/mcp-messages.ts";

const { base, askOld, call, showApp, showResult } = await startAppService();

const symbol = "ALDER.SIM";

/** Fills in the alert form up to the confirmation. */
async function review({ app }: ShownApp): Promise<void> {
  await app.getByRole("button", { name: "Alert me" }).click();
  await app.getByLabel("To my webhook").check();
  await app.getByLabel("Address of the webhook").fill("javascript:alert(1)");
  await app.getByRole("button", { name: "Review" }).click();
  await app.getByText("A webhook is an address that begins with https").waitFor();
  await app.getByLabel("The assistant asks for them").check();
  await app.getByLabel("Also when the score moves by").fill("20");
  await app.getByLabel("Name, if you like").fill("mine & yours");
  await app.getByRole("button", { name: "Review" }).click();
  await app.getByRole("heading", { name: "Make this alert?" }).waitFor();
}

interface Alerts {
  readonly items: readonly { readonly id: string; readonly label: string | null }[];
}

const alertsNow = async () => {
  const { structuredContent } = await call("list_alerts", {});
  return (structuredContent as unknown as Alerts).items;
};

/** Inputs that together contain every member of `register_alert`. */
const inputs = [
  {
    symbols: ["ALDER.SIM", "BYTEN.SIM"],
    kinds: ["signal_shift", "volatility", "report", "range", "steadiness"],
    scoreMove: 12,
    volatilityZ: 2.5,
    reportSessions: 7,
    steadinessLevel: 35,
    cooldownDays: 1.5,
    expiresAt: "2027-03-04T05:06:00Z",
    snoozedUntil: "2026-12-01T00:00:00Z",
    label: "all of it",
    delivery: { type: "webhook", url: `https://hooks.example/${"a".repeat(3_900)}?b=c` },
  },
  {
    watchlist: "Mine",
    kinds: ["range"],
    channel: "Desk",
    delivery: { type: "poll" },
  },
  {
    assetClass: "crypto",
    signal: "LONG",
    kinds: ["signal_shift"],
    scoreMove: null,
    delivery: { type: "poll" },
  },
] as const;

describe("the confirmation of an alert", () => {
  it("is tested with every input of register_alert except the idempotency key", () => {
    const members = inputs.flatMap((wish) => Object.keys(wish));
    const wanted = Object.keys(registerAlert.input.shape).filter((one) => one !== "idempotencyKey");
    expect([...new Set(members)].sort()).toEqual(wanted.sort());
  });

  it.each(inputs)(
    "shows every value that will be sent, and sends exactly those values (input %#)",
    async (wish) => {
      const tool = { name: "register_alert", inputSchema: { type: "object" } };
      const opened = await showApp({
        context: { toolInfo: { tool } },
        callServer: () => {
          throw new Error("a host that refuses");
        },
      });
      const { app, send, asked } = opened;
      await send("sendToolInput", { arguments: wish });
      const wanted = await app.locator("dl").innerText();
      await send("sendToolCancelled", { reason: "no" });
      await app.getByRole("button", { name: "Make it myself" }).click();
      await app.getByRole("button", { name: "Review" }).click();
      expect(await app.locator("dl").innerText()).toBe(wanted);
      const shown = await viewText(opened);
      const { symbols, delivery, ...rest } = { symbols: [], ...wish };
      const url = "url" in delivery ? [delivery.url] : [];
      const values = [...symbols, ...url, ...Object.values(rest)].filter(
        (value) => typeof value === "number" || (typeof value === "string" && !/T.*Z$/.test(value)),
      );
      for (const value of values) {
        expect(shown).toContain(value === "crypto" ? "Coin" : String(value));
      }
      for (const date of Object.keys(wish).includes("expiresAt")
        ? ["4 Mar 2027", "1 Dec 2026"]
        : []) {
        expect(shown).toContain(date);
      }
      expect(await asked("call")).toEqual([]);
      await app.getByRole("button", { name: "Make the alert" }).click();
      await app.getByText("a host that refuses").waitFor();
      expect(await asked("call")).toEqual([
        {
          name: "register_alert",
          arguments: { ...wish, idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/) },
        },
      ]);
    },
  );

  it("can be used by keyboard alone", async () => {
    const opened = await showResult("get_signal", { symbol });
    const { app, page, asked } = opened;
    const tabTo = async (name: string) => {
      const at = () =>
        app.evaluate<string>(
          "document.activeElement.labels?.[0]?.innerText || document.activeElement.innerText",
        );
      for (let tabs = 0; tabs < 40 && (await at()) !== name; tabs++) {
        await page.keyboard.press("Tab");
      }
      expect(await at()).toBe(name);
    };
    await tabTo("Alert me");
    await page.keyboard.press("Enter");
    await tabTo("unusual volatility");
    await page.keyboard.press("Space");
    await tabTo("Name, if you like");
    await page.keyboard.type("typed");
    await tabTo("Review");
    await page.keyboard.press("Enter");
    await app.getByRole("heading", { name: "Make this alert?" }).waitFor();
    expect(await asked("call")).toEqual([]);
    await tabTo("Make the alert");
    await page.keyboard.press("Enter");
    await app.getByRole("heading", { name: "The alert is made" }).waitFor();
    expect(await asked("call")).toMatchObject([
      { arguments: { symbols: [symbol], kinds: ["signal_shift"], label: "typed" } },
    ]);
  });
});

describe("an alert", () => {
  it("is created after a person confirms it, and the model is informed", async () => {
    const before = (await alertsNow()).length;
    const opened = await showResult("get_signal", { symbol });
    const { app, asked, page } = opened;
    await app.getByRole("button", { name: "Alert me" }).click();
    await page.setViewportSize({ width: 320, height: 700 });
    for (const theme of ["light", "dark"]) {
      await opened.send("sendHostContextChange", { theme });
      expect(await accessibilityFaults(app)).toEqual([]);
      await waitUntilSettled(opened);
      await photograph(page, `app-form-320-${theme}`);
    }
    expect(await app.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(320);
    await app.getByRole("button", { name: "Not now" }).click();
    await review(opened);
    expect(await accessibilityFaults(app)).toEqual([]);
    await waitUntilSettled(opened);
    await photograph(page, "app-consent-320-dark");
    expect(await asked("call")).toEqual([]);
    await app.getByRole("button", { name: "Make the alert" }).click();
    await app.getByRole("heading", { name: "The alert is made" }).waitFor();
    const alerts = await alertsNow();
    expect(alerts).toHaveLength(before + 1);
    expect(alerts.map(({ label }) => label)).toContain("mine & yours");
    await expect
      .poll(async () => JSON.stringify(await asked("context")))
      .toContain("The person made the alert alert_");
    await app.getByRole("button", { name: "Back" }).click();
    expect(await viewText(opened)).toContain("Where the score comes from");
  });

  it("is not created when the host refuses, and is created once when the person tries again", async () => {
    const before = (await alertsNow()).length;
    let tries = 0;
    const opened = await showResult(
      "get_signal",
      { symbol },
      {
        callServer: async ({ name, arguments: given }) => {
          tries++;
          if (tries === 1) throw new Error("not allowed <b>here</b>");
          const made = await call(name, given);
          // The answer to the second attempt is lost.
          if (tries === 2) throw new Error("lost");
          return made;
        },
      },
    );
    const { app, asked } = opened;
    await review(opened);
    const agree = app.getByRole("button", { name: "Make the alert" });
    await agree.click();
    await app.getByText("The host refused").waitFor();
    expect(await alertsNow()).toHaveLength(before);
    await agree.click();
    await app.getByText("lost").waitFor();
    await agree.click();
    await app.getByRole("heading", { name: "The alert is made" }).waitFor();
    expect(await alertsNow()).toHaveLength(before + 1);
    const keys = (await asked("call")).map(
      (one) => (one.arguments as { idempotencyKey: string }).idempotencyKey,
    );
    expect(new Set(keys).size).toBe(1);
  });

  it("shows the cause and the next step when it fails, and can then be changed", async () => {
    const opened = await showResult("register_alert", { symbols: ["NOBODY"] });
    const { app } = opened;
    const said = (await call("register_alert", { symbols: ["NOBODY"] })).content[0]?.text ?? "";
    expect(said).toContain("find_instruments");
    expect(await viewText(opened)).toContain(said.replace("unknown_symbol: ", ""));
    await app.getByRole("button", { name: "Change and try again" }).click();
    await app.getByLabel("Instruments").fill("ALDER.SIM, BYTEN.SIM");
    await app.getByRole("button", { name: "Review" }).click();
    await app.getByText("ALDER.SIM, BYTEN.SIM").waitFor();
  });

  it("leads to the claim page when its agent is unclaimed", async () => {
    const token = await tokenOf(base, await register(base));
    const given = { symbols: [symbol] };
    const result = await resultOf<ToolResult>(
      askOld("tools/call", { name: "register_alert", arguments: given }, token),
    );
    const opened = await showApp();
    const { app, send, asked } = opened;
    await send("sendToolInput", { arguments: given });
    await send("sendToolResult", result);
    const { next, claim } = result.structuredContent as {
      next: string;
      claim: { page: string; code: string };
    };
    const text = await viewText(opened);
    expect(text).toContain(next);
    expect(text).toContain(claim.code);
    await app.getByRole("button", { name: "Open the claim page" }).click();
    await expect.poll(() => asked("link")).toEqual([{ url: claim.page }]);
  });
});
