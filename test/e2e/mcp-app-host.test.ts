// @module-tag full

import { describe, expect, it } from "vitest";
import { DIRECTION_EVIDENCE_TEXT } from "../../src/answers/meaning.ts";
import { newToken } from "../support/agent.ts";
import type { ShownApp } from "../support/app-host.ts";
import { startAppService, type ToolResult, viewText } from "../support/app-service.ts";
import { accessibilityFaults, photograph } from "../support/look.ts";
import { resultOf } from "../support/mcp-messages.ts";

const { base, askOld, call, showApp, showResult } = await startAppService();

const symbol = "ALDER.SIM";

/** Returns a computed style of the first element that matches a selector. */
const styleOf = ({ app }: ShownApp, selector: string, property: string) =>
  app.evaluate<string>(
    `getComputedStyle(document.querySelector("${selector}")).getPropertyValue("${property}")`,
  );

/** Colors as hosts specify them: one value for both themes. */
const PALETTE = {
  "--color-background-primary": "light-dark(#ffffff, #30302e)",
  "--color-background-secondary": "light-dark(#f5f4ed, #262624)",
  "--color-text-primary": "light-dark(#141413, #faf9f5)",
  "--color-text-secondary": "light-dark(#3d3d3a, #c2c0b6)",
  "--color-text-info": "light-dark(#3266ad, #80aadd)",
  "--color-text-danger": "light-dark(#7f2c28, #ee8884)",
  "--color-border-secondary": "light-dark(#1f1e1d66, #dedcd14d)",
  "--font-sans": "Host Sans, sans-serif",
};

describe("the app in its host", () => {
  it("adopts the host's theme, insets and language, but loads nothing that the host specifies", async () => {
    const context = {
      theme: "dark",
      styles: {
        variables: {
          "--font-sans": "url(https://elsewhere.example/x)",
          "--ground": "red",
          "--border-radius-lg": "3px",
        },
        css: { fonts: "@import url(https://elsewhere.example/fonts.css)" },
      },
      safeAreaInsets: { top: 30, right: 0, bottom: 1e9, left: 0 },
    };
    const opened = await showResult("get_signal", { symbol }, { context });
    expect(await styleOf(opened, "html", "color-scheme")).toBe("dark");
    expect(await styleOf(opened, "body", "background-color")).toBe("rgb(16, 20, 19)");
    expect(await styleOf(opened, "body", "font-family")).not.toContain("url");
    expect(await styleOf(opened, ".card", "border-top-left-radius")).toBe("3px");
    expect(await styleOf(opened, "#content", "padding-top")).toBe("46px");
    expect(await styleOf(opened, "#content", "padding-bottom")).toBe("216px");
    const change = { theme: "light", locale: "de-DE", timeZone: "America/New_York" };
    await opened.send("sendHostContextChange", change);
    expect(await styleOf(opened, "body", "color")).toBe("rgb(27, 31, 30)");
    for (const unknown of [{}, { locale: "no language", timeZone: "Nowhere/City" }]) {
      await opened.send("sendHostContextChange", unknown);
      await opened.send("sendToolResult", await call("get_signal", { symbol }));
      expect(await viewText(opened)).toContain("21. Nov. 2026, 00:00 GMT-5");
    }
  });

  it("uses the host's palette in both themes if the host defines background and text colors", async () => {
    const half = { "--color-background-primary": "rgb(1, 2, 3)" };
    const opened = await showResult(
      "get_signal",
      { symbol },
      {
        context: { theme: "light", styles: { variables: half } },
      },
    );
    expect(await styleOf(opened, "body", "background-color")).toBe("rgb(245, 245, 241)");
    for (const [theme, ground, text] of [
      ["light", "rgb(255, 255, 255)", "rgb(20, 20, 19)"],
      ["dark", "rgb(48, 48, 46)", "rgb(250, 249, 245)"],
    ] as const) {
      await opened.send("sendHostContextChange", { theme, styles: { variables: PALETTE } });
      expect(await styleOf(opened, "body", "background-color")).toBe(ground);
      expect(await styleOf(opened, "body", "color")).toBe(text);
      await opened.send("sendToolResult", await call("get_signal", { symbol }));
      await photograph(opened.page, `app-palette-${theme}`);
      expect(await accessibilityFaults(opened.app)).toEqual([]);
    }
  });

  it("reports the height of its content after the handshake, and again only when the height changes", async () => {
    const { app, asked } = await showResult("get_signal", { symbol });
    const height = async () => (await asked("size")).at(-1)?.height;
    const content = () => app.evaluate<number>("Math.ceil(content.getBoundingClientRect().height)");
    await expect.poll(height).toBe(await content());
    const before = await content();
    await app.getByRole("button", { name: "Details" }).click();
    await app.getByRole("button", { name: "Back" }).waitFor();
    expect(await content()).toBeGreaterThan(before);
    await expect.poll(height).toBe(await content());
    const { length } = await asked("size");
    await app.evaluate(
      "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))",
    );
    expect(await asked("size")).toHaveLength(length);
  });

  it("requests full screen if the host offers it", async () => {
    const context = { availableDisplayModes: ["inline", "fullscreen"], displayMode: "inline" };
    const { app, asked } = await showResult("get_signal", { symbol }, { context });
    await app.getByRole("button", { name: "Larger" }).click();
    await app.getByRole("button", { name: "Smaller" }).waitFor();
    expect(await asked("mode")).toEqual([{ mode: "fullscreen" }]);
  });

  it("shows no buttons when the host supports neither tool calls nor links", async () => {
    const { app } = await showResult("get_signal", { symbol }, { capabilities: {} });
    expect(await app.locator("button:visible").count()).toBe(0);
  });

  it("lets a person open related views, and go back", async () => {
    const opened = await showResult("get_signal", { symbol });
    const { app, asked } = opened;
    const first = await viewText(opened);
    await app.getByRole("button", { name: "Details" }).click();
    await app.getByText("with 80\u00a0% probability").waitFor();
    const call = { name: "get_signal", arguments: { symbol, detail: "full" } };
    await expect.poll(() => asked("call")).toMatchObject([call]);
    await app.getByRole("button", { name: "Back" }).click();
    expect(await viewText(opened)).toBe(first);
    await app.getByRole("button", { name: "History" }).click();
    await app.getByText("Smoothed score").waitFor();
    expect(await viewText(opened)).not.toContain("next page");
    await app.getByRole("button", { name: "Back" }).click();
    await app.getByRole("button", { name: "Open the page" }).click();
    await expect.poll(() => asked("link")).toEqual([{ url: `${base}/market/ALDER.SIM` }]);
  });

  it("shows the arguments of a call as they arrive, and shows when a call is canceled", async () => {
    const opened = await showApp();
    const { app, send, asked } = opened;
    expect(await viewText(opened)).toBe("Waiting for the answer…");
    await send("sendToolInputPartial", { arguments: {} });
    await send("sendToolInputPartial", { arguments: { symbol: "ALD", last: {} } });
    await app.getByText("ALD", { exact: true }).waitFor();
    await send("sendToolInput", { arguments: { symbol } });
    expect(await viewText(opened)).toContain(`Waiting for the answer about ${symbol}`);
    await send("sendToolCancelled", { reason: "the person said no" });
    expect(await viewText(opened)).toContain(
      "There is no answer. The reason given: the person said no",
    );
    expect(await asked("call")).toEqual([]);
  });

  it("replaces the first result with a second result, but never replaces a view that a person opened", async () => {
    const opened = await showResult("get_signal", { symbol });
    const { app, send } = opened;
    await send("sendToolResult", await call("get_signal", { symbol: "BYTEN.SIM" }));
    expect(await viewText(opened)).toContain("BYTEN.SIM");
    await app.getByRole("button", { name: "History" }).click();
    await app.getByText("Smoothed score").waitFor();
    const history = await viewText(opened);
    await send("sendToolInput", { arguments: { symbol } });
    await send("sendToolResult", await call("get_signal", { symbol }));
    expect(await viewText(opened)).toBe(history);
    await app.getByRole("button", { name: "Back" }).click();
    expect(await viewText(opened)).toContain(symbol);
  });

  it("sends and shows nothing more after the host ends the app", async () => {
    const opened = await showResult("get_signal", { symbol });
    const before = await viewText(opened);
    expect(await opened.page.evaluate("bridge.teardownResource({})")).toEqual({});
    expect(await opened.app.locator("button:enabled").count()).toBe(0);
    const late = JSON.stringify(await call("get_signal", { symbol: "BYTEN.SIM" }));
    await opened.page.evaluate(`bridge.sendToolResult(${late})`);
    await opened.app.evaluate("new Promise((done) => requestAnimationFrame(done))");
    expect(await viewText(opened)).toBe(before);
  });

  it("shows the cause and the next step of a failure", async () => {
    const opened = await showResult("get_signal", { symbol: "NOBODY" });
    const { content } = await call("get_signal", { symbol: "NOBODY" });
    expect(content[0]?.text).toContain("find_instruments");
    expect(await viewText(opened)).toContain(
      content[0]?.text.replace("unknown_symbol: ", "") ?? "an error",
    );
  });

  it("leads to the claim page when its agent is unclaimed", async () => {
    const token = await newToken(base);
    const params = { name: "register_alert", arguments: { symbols: [symbol] } };
    const result = await resultOf<ToolResult>(askOld("tools/call", params, token));
    const opened = await showApp();
    await opened.send("sendToolResult", result);
    const { next, claim } = result.structuredContent as {
      next: string;
      claim: { page: string; code: string };
    };
    const text = await viewText(opened);
    expect(text).toContain(next);
    expect(text).toContain(claim.code);
    await opened.app.getByRole("button", { name: "Open the claim page" }).click();
    await expect.poll(() => opened.asked("link")).toEqual([{ url: claim.page }]);
  });

  it("stays usable after an unexpected answer to a call", async () => {
    let answer: unknown;
    const opened = await showResult("get_signal", { symbol }, { callServer: () => answer });
    const { app } = opened;
    for (answer of [
      { content: [] },
      { content: [{ type: "text", text: "" }], structuredContent: { history: [] } },
      { content: [{ type: "text", text: "[1, 2]" }], structuredContent: { history: {} } },
      { content: [{ type: "text", text: "nothing_here: No." }], isError: true },
    ]) {
      await app.getByRole("button", { name: "Details" }).click();
      await app.getByRole("button", { name: "Back" }).click();
      expect(await viewText(opened)).toContain(symbol);
    }
    answer = "no result at all";
    await app.getByRole("button", { name: "Details" }).click();
    await app.getByText("The host refused").waitFor();
    expect(await app.getByRole("button", { name: "Details" }).isEnabled()).toBe(true);
  });
});

describe("a message to the app", () => {
  /**
   * Posts a message to the app's window, either directly or through the sandbox as the host does.
   */
  const post = ({ page }: ShownApp, window: string, message: unknown) =>
    page.evaluate(`frame.contentWindow${window}.postMessage(${JSON.stringify(message)}, "*")`);

  it("is ignored unless it comes from the host's window", async () => {
    const opened = await showResult("get_signal", { symbol });
    const before = await viewText(opened);
    const forged = {
      jsonrpc: "2.0",
      method: "ui/notifications/tool-result",
      params: { content: [{ type: "text", text: "forged" }] },
    };
    await post(opened, "[0]", forged);
    await opened.app.evaluate(`window.postMessage(${JSON.stringify(forged)}, "*")`);
    await opened.app.evaluate("new Promise((done) => requestAnimationFrame(done))");
    expect(await viewText(opened)).toBe(before);
    await post(opened, "", forged);
    await opened.app.getByText("forged").waitFor();
  });

  it("changes nothing when it is malformed or does not answer a pending request", async () => {
    const opened = await showResult("get_signal", { symbol });
    const before = await viewText(opened);
    for (const message of [
      null,
      "text",
      [],
      { method: "ui/notifications/tool-result", params: {} },
      { jsonrpc: "1.0", method: "ui/notifications/tool-cancelled" },
      { jsonrpc: "2.0", method: "__proto__", params: {} },
      { jsonrpc: "2.0", method: "constructor" },
      { jsonrpc: "2.0", id: 999, result: { content: [] } },
      { jsonrpc: "2.0", id: "__proto__", error: null },
      { jsonrpc: "2.0", id: { toString: 1 } },
      { jsonrpc: "2.0", method: "ui/notifications/host-context-changed", params: 7 },
      {
        jsonrpc: "2.0",
        method: "ui/notifications/host-context-changed",
        params: { styles: null, toolInfo: { tool: null }, safeAreaInsets: 3, displayMode: {} },
      },
    ]) {
      await post(opened, "", message);
    }
    await opened.send("sendHostContextChange", {});
    expect(await viewText(opened)).toBe(before);
  });
});

/** Tool calls whose answers the app displays. */
const answers: readonly (readonly [name: string, given: object])[] = [
  ["get_signal", { symbol, detail: "full", since: "2026-11-21T04:00:00Z" }],
  ["get_signal", { symbol, last: 30 }],
  ["get_signal", { limit: 3 }],
];

type Values = Readonly<Record<string, unknown>>;

const resultWith = (structuredContent: Values): ToolResult => ({ content: [], structuredContent });

describe("a hostile answer", () => {
  const MARKUP = '<img src=x onerror="document.title=1"><b>bold</b>';
  const BIDI = "\u202egpj.exe\u2066";

  /** Replaces every text in an answer. */
  const withTexts = (value: unknown, text: string): unknown => {
    if (typeof value === "string") return text;
    if (Array.isArray(value)) return value.map((one) => withTexts(one, text));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [name, withTexts(one, text)]),
    );
  };

  it.each(answers)(
    "of %s %j is shown only as text, and marked as simulated",
    async (name, given) => {
      const opened = await showResult(name, given);
      const { structuredContent = {} } = await call(name, given);
      for (const text of [MARKUP, BIDI, "long ".repeat(2_000), "", "__proto__", "constructor"]) {
        await opened.send(
          "sendToolResult",
          resultWith(withTexts(structuredContent, text) as Values),
        );
        const shown = await viewText(opened);
        expect(shown).toContain("simulated");
        expect(shown).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
        expect(await opened.app.locator("img, b, script:not([type])").count()).toBe(1);
        expect(shown).toContain(DIRECTION_EVIDENCE_TEXT);
      }
    },
  );

  it("of a million characters is truncated", async () => {
    const opened = await showResult("get_signal", { symbol });
    const text = "long ".repeat(200_000);
    await opened.send("sendToolResult", { content: [{ type: "text", text }] });
    const shown = await viewText(opened);
    expect(shown).toContain("long long");
    expect(shown).toContain(DIRECTION_EVIDENCE_TEXT);
    expect(shown.length).toBeLessThan(300_000);
  });

  it.each(answers)(
    "of %s %j with a missing member shows no placeholder for that member",
    async (name, given) => {
      const opened = await showResult(name, given);
      const { structuredContent = {} } = await call(name, given);
      for (const missing of Object.keys(structuredContent)) {
        const { [missing]: _, ...rest } = structuredContent;
        await opened.send("sendToolResult", resultWith(rest));
        const shown = await viewText(opened);
        expect(shown, missing).toContain("simulated");
        expect(shown, missing).not.toMatch(/undefined|NaN|\[object|Infinity/);
        expect(shown, missing).toContain(DIRECTION_EVIDENCE_TEXT);
      }
      const { previousSignal: _, missingFactors: __, ...rest } = structuredContent;
      await opened.send("sendToolResult", resultWith(rest));
      const shown = await viewText(opened);
      expect(shown).not.toContain("where the record begins");
      expect(shown).not.toContain("of 4 factors");
    },
  );
});
