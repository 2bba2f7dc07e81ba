import { createServer } from "node:http";
import { join } from "node:path";
import type { Browser, Frame, Page } from "playwright-core";
import { rolldown } from "rolldown";
import { atFileEnd } from "./file-end.ts";
import { listenLocally } from "./local-server.ts";

/** Policy that hosts must use for an app that declares no domains (MCP Apps 2026-01-26). */
const APP_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

const PAGE = `<!doctype html><html lang="en"><head><title>Host</title><meta charset="utf-8">
<style>body{margin:0}iframe{border:0;width:100%;display:block}</style>
<link rel="icon" href="data:,"><script src="/host.js"></script></head><body></body></html>`;

/** Options of a host in a test. */
export interface HostChoice {
  readonly html: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Readonly<Record<string, object>>;
  /** Calls a tool of the server for the app. */
  readonly callServer?: (call: { readonly name: string; readonly arguments: object }) => unknown;
  readonly width?: number;
}

/** An app that a host shows. */
export interface ShownApp {
  readonly page: Page;
  /** The document of the app. */
  readonly app: Frame;
  /** Errors and warnings of the browser. */
  readonly complaints: readonly string[];
  /** Requests of the app to the host, by name, with their parameters. */
  asked(name: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Lets the host send something by a method of its bridge. */
  send(method: string, params: object): Promise<void>;
}

/** Starts a web page that shows apps with the official bridge. @returns A function that shows one. */
export async function startAppHost(
  browser: Browser,
): Promise<(choice: HostChoice) => Promise<ShownApp>> {
  const script = await bridgeScript();
  const server = createServer((req, res) => {
    const isScript = req.url === "/host.js";
    res.setHeader("Content-Type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    res.end(isScript ? script : PAGE);
  });
  const origin = await listenLocally(server);
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return (choice) => show(browser, origin, choice);
}

/** The official bridge with what it imports, as a script for browsers. */
async function bridgeScript(): Promise<string> {
  const input = join(import.meta.dirname, "app-host.js");
  const build = await rolldown({ input, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "iife" });
  return output[0].code;
}

const CAPABILITIES = { serverTools: {}, openLinks: {}, updateModelContext: { text: {} } };

async function show(browser: Browser, origin: string, choice: HostChoice): Promise<ShownApp> {
  const { html, context = {}, capabilities = CAPABILITIES, callServer, width = 640 } = choice;
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const complaints: string[] = [];
  // The bridge itself tells of every message, for debugging.
  page.on("console", (message) => message.type() !== "debug" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("request", (request) => {
    const { origin: to, protocol } = new URL(request.url());
    if (to !== origin && protocol !== "data:" && protocol !== "about:") {
      complaints.push(`asked ${request.url()}`);
    }
  });
  await page.exposeFunction("callServer", callServer ?? (() => ({ content: [] })));
  await page.goto(origin);
  const policed = html.replace(
    "<head>",
    `<head><meta http-equiv="Content-Security-Policy" content="${APP_POLICY}">`,
  );
  await run(page, `openApp(${JSON.stringify({ html: policed, context, capabilities })})`);
  const [, app] = page.frames();
  if (app === undefined) throw new Error("the host shows no app");
  return {
    page,
    app,
    complaints,
    asked: async (name) =>
      (await run<readonly (readonly [string, Readonly<Record<string, unknown>>])[]>(page, "asked"))
        .filter(([one]) => one === name)
        .map(([, params]) => params),
    send: (method, params) => run(page, `bridge.${method}(${JSON.stringify(params)})`),
  };
}

const run = <T>(page: Page, code: string): Promise<T> => page.evaluate(code) as Promise<T>;
