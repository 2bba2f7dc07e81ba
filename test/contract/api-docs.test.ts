import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { codeSamplesOf, sampleRequest } from "../../src/http/docs/code-samples.ts";
import { type ApiDescription, operationsOf } from "../../src/http/docs/described.ts";
import { groupBySection } from "../../src/http/docs/sections.ts";
import { newToken } from "../support/agent.ts";
import { smallMarket } from "../support/small-market.ts";
import { sharedTestService, startTestService } from "../support/test-service.ts";

const { base } = await sharedTestService();

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(base + path, { method, headers });

const description = (await (await ask("/docs/api/openapi.json")).json()) as ApiDescription;
const operations = operationsOf(description);
const page = await (await ask("/docs/api")).text();

/** Decodes the HTML of the page to the text that people read. */
const decoded = (markup: string): string =>
  markup
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");

/** Returns the article of the page that describes an operation. */
function partOf(id: string): string {
  const start = page.indexOf(`<article id="${id}">`);
  return page.slice(start, page.indexOf("</article>", start));
}

describe("GET /docs/api", () => {
  it("serves a page whose content security policy allows only resources of this origin", async () => {
    const response = await ask("/docs/api", { accept: "text/html,*/*;q=0.8" });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("vary")).toContain("Accept");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(policy).toContain("script-src 'self'; connect-src 'self'");
    expect(policy).not.toContain("unsafe");
    expect(page).toContain("not investment advice.");
    expect(page).toContain('<a href="/">Market Signal and Verification Service</a>');
    expect(page.replace(/<script defer src="[^"]+"><\/script>/g, "")).not.toMatch(
      /<script|style=|\son\w+=/,
    );
  });

  it.each(["/docs/api", "/docs/api.md"])(
    "sends %s without encoding it for each visitor",
    async (path) => {
      const end = vi.spyOn(ServerResponse.prototype, "end");
      onTestFinished(() => end.mockRestore());
      const text = await (await ask(path, { "accept-encoding": "identity" })).text();
      expect(end.mock.calls).toEqual([[Buffer.from(text)]]);
    },
  );

  it("describes every API operation exactly once, in reading order, with the document endpoints last", () => {
    const ids = Array.from(page.matchAll(/<article id="(\w+)">/g), ([, id]) => id);
    const wanted = groupBySection(operations).flatMap(([, some]) => some.map(({ id }) => id));
    expect(ids.filter((id) => id !== "events")).toEqual(wanted);
    expect(wanted.toSorted()).toEqual(operations.map(({ id }) => id).toSorted());
    const order = Array.from(
      page.matchAll(/<section id="([\w-]+)" class="group">/g),
      ([, id]) => id,
    );
    expect(order).toEqual([
      ...["access", "signals", "factors", "off-exchange", "verify", "alerts", "watchlists"],
      ...["export", "clients", "service", "documents"],
    ]);
  });

  it.each(operations.map((operation) => [operation.id, operation] as const))(
    "documents the parameters, body, answers, errors with the next step, and sample code of %s",
    (id, operation) => {
      const part = partOf(id);
      const { method, path, summary, parameters, body, answers, failures } = operation;
      expect(part).toContain(`<span class="method">${method}</span> <code>${path}</code>`);
      expect(decoded(part)).toContain(`>${summary}</a></h3>`);
      for (const { name } of parameters) expect(part, name).toContain(`<code>${name}</code>`);
      if (body) expect(part).toContain(`<code>${body.mediaType}</code>`);
      for (const { status } of answers) expect(part).toContain(`<code>${status}</code>`);
      for (const { status, code, next } of failures) {
        expect(part).toContain(`<code>${status} ${code}</code>`);
        if (next !== undefined) expect(decoded(part)).toContain(`Next, for example: ${next}`);
      }
      expect(failures.length).toBeGreaterThan(0);
      for (const { code } of codeSamplesOf(sampleRequest(operation, base))) {
        expect(decoded(part)).toContain(`>${code}</code>`);
      }
    },
  );

  it("has unique element ids, and no broken links within the page", () => {
    const ids = Array.from(page.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
    expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
    const links = Array.from(page.matchAll(/href="#([^"]+)"/g), ([, id = ""]) => id);
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
  });

  it("redirects browsers, but no other clients, from an alternative host name to the canonical one, and each browser only once", async () => {
    const elsewhere = base.replace("127.0.0.1", "localhost");
    const come = (headers: Readonly<Record<string, string>>) =>
      fetch(`${elsewhere}/docs/api?x=1`, { headers, redirect: "manual" });
    const sent = await come({ accept: "text/html,*/*;q=0.8" });
    expect(sent.status).toBe(303);
    expect(sent.headers.get("location")).toBe(`${base}/docs/api?x=1`);
    expect(sent.headers.get("cache-control")).toBe("no-store");
    const [cookie = ""] = sent.headers.get("set-cookie")?.split(";") ?? [];
    expect((await come({ accept: "text/html", cookie })).status).toBe(200);
    for (const accept of ["*/*", "text/markdown"])
      expect((await come({ accept })).status).toBe(200);
  });

  it.each(["text/markdown", "text/markdown, text/plain;q=0.5", "text/html;q=0.5, text/markdown"])(
    "is served as Markdown for Accept: %s",
    async (accept) => {
      const response = await ask("/docs/api", { accept });
      expect(response.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
      expect(response.headers.get("vary")).toContain("Accept");
      const text = await response.text();
      expect(text).toContain("# Market Signal and Verification Service: API reference");
      expect(text).toBe(await (await ask("/docs/api.md")).text());
    },
  );

  it("lists every operation exactly once in Markdown", async () => {
    const text = await (await ask("/docs/api.md")).text();
    for (const { method, path } of operations) {
      const name = `\`${method} ${path}\``;
      const lines = text.split("\n").filter((line) => line.replace("- ", "").startsWith(name));
      expect(lines.length, name).toBe(1);
    }
  });

  it.each(["/docs/api", "/docs/api.md", "/docs/api/oauth2-redirect.html"])(
    "at %s answers 304 to a matching If-None-Match, and answers HEAD with the headers of GET",
    async (path) => {
      const first = await ask(path);
      expect(first.headers.get("cache-control")).toBe("public, max-age=300");
      const etag = first.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[\w-]{43}(-gzip)?"$/);
      const again = await ask(path, { "if-none-match": etag });
      expect([again.status, await again.text()]).toEqual([304, ""]);
      const head = await ask(path, {}, "HEAD");
      expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, etag, ""]);
      expect((await ask(path, {}, "POST")).status).toBe(405);
    },
  );

  it("loads less than 40 kB of script, from cacheable URLs", async () => {
    const addresses = Array.from(
      page.matchAll(/<(?:script defer src|link rel="stylesheet" href)="([^"]+)"/g),
      ([, address = ""]) => address,
    );
    expect(addresses.map((one) => one.split("?")[0])).toEqual([
      "/assets/pages.css",
      "/assets/reference.css",
      "/assets/reference.js",
    ]);
    const responses = await Promise.all(addresses.map((address) => ask(address)));
    for (const { status, headers } of responses) {
      expect(status).toBe(200);
      expect(headers.get("cache-control")).toBe("public, max-age=86400");
    }
    expect((await responses[2]?.text())?.length).toBeLessThan(40_000);
  });
});

/**
 * Operations that are not run: an endless stream, pages for browsers or people, operations of
 * claimed agents, and proofs that one log tree extends an earlier one.
 */
const NOT_RUN = new Set([
  "stream_alert_events",
  "authorize",
  "get_user_info",
  "get_alert_events",
  "list_watchlists",
  "get_log_consistency",
]);

const run = promisify(execFile);

/** Output buffer that is large enough for all answers, in bytes. */
const LARGE = { maxBuffer: 64 * 1024 * 1024 };

/** Operations whose example runs on its own, without an existing alert, code or claim. */
const RUNNABLE = operations
  .filter(
    ({ id, method, path }) =>
      (method === "GET" && !path.includes("{") && !NOT_RUN.has(id)) ||
      ["call_mcp", "register_client"].includes(id),
  )
  .map((operation) => {
    const [curl, typescript] = codeSamplesOf(sampleRequest(operation, base));
    return { id: operation.id, curl, typescript };
  });

/** Environment variables for the code samples, with a token. */
const withToken = async () => ({ ...process.env, MARKET_SIGNAL_TOKEN: await newToken(base) });

/** Returns the operations that printed nothing after their heading. */
const silent = (output: string): readonly string[] =>
  output
    .split(/^@@ /m)
    .slice(1)
    .filter((part) => /^\w+\s*$/.test(part));

describe("the code samples of the page, run unchanged against the service", () => {
  it("cover the most important operations", () => {
    expect(RUNNABLE.map(({ id }) => id)).toEqual(
      expect.arrayContaining([
        ...["get_signal", "get_factors", "get_darkpool", "find_instruments", "get_track_record"],
        "verify_signal",
        ...["export_panel", "list_alerts", "call_mcp", "register_client", "get_health"],
      ]),
    );
  });

  it("run in curl and print an answer", async () => {
    const commands = RUNNABLE.map(({ id, curl }) => `echo "@@ ${id}"\n${curl.code}\necho`);
    const script = commands.join("\n").replaceAll("curl -sS", "curl -sS --fail-with-body");
    const { stdout } = await run("sh", ["-ec", script], { env: await withToken(), ...LARGE });
    expect(silent(stdout)).toEqual([]);
  });

  it("run in TypeScript and print an answer", async () => {
    const folder = await mkdtemp(join(tmpdir(), "reference-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const { id, typescript } of RUNNABLE) {
      await writeFile(join(folder, `${id}.ts`), typescript.code);
    }
    // Each sample is a module; one process imports all of them.
    const lines = RUNNABLE.map(({ id }) => `console.log("@@ ${id}"); await import("./${id}.ts");`);
    await writeFile(join(folder, "all.ts"), `${lines.join("\n")}\nexport {};\n`);
    const call = run(process.execPath, [join(folder, "all.ts")], {
      env: await withToken(),
      ...LARGE,
    });
    expect(silent((await call).stdout)).toEqual([]);
  });

  it("name instruments that the market has, or none where its instruments are not public", async () => {
    const MARKET = `files:${await smallMarket()}`;
    const codeOf = async (at: string) => {
      const html = await (await fetch(`${at}/docs/api`)).text();
      return Array.from(
        html.matchAll(/<code id="([a-z_]+)-curl">(.*?)<\/code>/gs),
        ([, id = "", code = ""]) => ({
          id,
          code: decoded(code),
        }),
      );
    };
    const open = await startTestService({ MARKET });
    const samples = await codeOf(open.base);
    expect(samples.filter(({ code }) => code.includes(".SIM"))).toEqual([]);
    const headers = { authorization: `Bearer ${await newToken(open.base)}` };
    // A recorded market has no log in which a signal could be verified.
    const asked = samples.filter(
      ({ id, code }) => code.includes("symbol=") && id !== "verify_signal",
    );
    for (const { code } of asked) {
      const [, url = ""] = /curl -sS '([^']*)'/.exec(code) ?? [];
      expect((await fetch(url, { headers })).status, url).toBe(200);
    }
    const closed = await startTestService({ MARKET, ANONYMOUS_SCOPES: "factor:read" });
    const hidden = (await codeOf(closed.base)).filter(({ code }) => code.includes("symbol="));
    expect(hidden.length).toBeGreaterThan(2);
    for (const { code } of hidden) expect(code).toContain("symbol=SYMBOL");
  });
});
