import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import type { Browser, Frame, Page } from "playwright-core";
import { rolldown } from "rolldown";
import { atFileEnd } from "./file-end.ts";
import { listenLocally } from "./local-server.ts";

/**
 * Content security policy that hosts must enforce for an app that declares no domains (MCP Apps
 * 2026-01-26).
 */
const APP_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'; base-uri 'self'";

/** An HTML page that runs a script and leaves room for frames. */
const pageWith = (
  script: string,
): string => `<!doctype html><html lang="en"><head><title>Host</title>
<meta charset="utf-8"><style>body{margin:0}iframe{border:0;width:100%;display:block}iframe[title=app]{height:100vh}</style>
<link rel="icon" href="data:,"></head><body><script src="${script}"></script></body></html>`;

/** Options of the host. */
export interface HostChoice {
  readonly html: string;
  readonly context?: Readonly<Record<string, unknown>>;
  readonly capabilities?: Readonly<Record<string, object>>;
  /** Answers the app's tool calls. */
  readonly callServer?: (call: { readonly name: string; readonly arguments: object }) => unknown;
  readonly width?: number;
}

/** An app that is displayed by a host. */
export interface ShownApp {
  readonly page: Page;
  /** The frame of the app. */
  readonly app: Frame;
  /** Console messages and errors of the browser, and requests to other origins. */
  readonly complaints: readonly string[];
  /** Parameters of the app's requests to the host, by name of the request. */
  asked(name: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /**
   * Sends a message from the host by a method of its bridge; resolves once the app has processed
   * it.
   */
  send(method: string, params: object): Promise<void>;
}

/**
 * Starts a host page that displays apps through the official bridge, in a sandbox of another
 * origin.
 *
 * @returns A function that displays an app.
 */
export async function startAppHost(
  browser: Browser,
): Promise<(choice: HostChoice) => Promise<ShownApp>> {
  const sandboxScript = await readFile(join(import.meta.dirname, "app-sandbox.js"), "utf8");
  const sandbox = await serveScript(sandboxScript, APP_POLICY);
  const host = await serveScript(await bridgeScript());
  return (choice) => show(browser, { host, sandbox }, choice);
}

/** Serves a script, and a page that runs it. @returns The origin. */
async function serveScript(script: string, policy?: string): Promise<string> {
  const server = createServer((req, res) => {
    const isScript = req.url === "/script.js";
    res.setHeader("Content-Type", isScript ? "text/javascript" : "text/html; charset=utf-8");
    if (policy !== undefined) res.setHeader("Content-Security-Policy", policy);
    res.end(isScript ? script : pageWith("/script.js"));
  });
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return listenLocally(server);
}

/** Bundles the official bridge into a script for browsers. */
async function bridgeScript(): Promise<string> {
  const input = join(import.meta.dirname, "app-host.js");
  const build = await rolldown({ input, platform: "browser", logLevel: "silent" });
  const { output } = await build.generate({ format: "iife" });
  return output[0].code;
}

const CAPABILITIES = { serverTools: {}, openLinks: {}, updateModelContext: { text: {} } };

async function show(
  browser: Browser,
  origins: { readonly host: string; readonly sandbox: string },
  choice: HostChoice,
): Promise<ShownApp> {
  const { html, context = {}, capabilities = CAPABILITIES, callServer, width = 640 } = choice;
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const complaints: string[] = [];
  // The bridge logs every message as `debug`.
  page.on("console", (message) => message.type() !== "debug" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const known: readonly string[] = Object.values(origins);
  page.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (!known.includes(origin) && protocol !== "data:") complaints.push(`asked ${request.url()}`);
  });
  await page.exposeFunction("callServer", callServer ?? (() => ({ content: [] })));
  await page.goto(origins.host);
  const options = { html, sandbox: origins.sandbox, context, capabilities };
  await run(page, `openApp(${JSON.stringify(options)})`);
  const [, , app] = page.frames();
  if (app === undefined) throw new Error("the host shows no app");
  return {
    page,
    app,
    complaints,
    asked: async (name) =>
      (await run<readonly (readonly [string, Readonly<Record<string, unknown>>])[]>(page, "asked"))
        .filter(([one]) => one === name)
        .map(([, params]) => params),
    send: (method, params) => run(page, `send("${method}", ${JSON.stringify(params)})`),
  };
}

const run = <T>(page: Page, code: string): Promise<T> => page.evaluate(code) as Promise<T>;
