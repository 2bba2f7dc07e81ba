import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { sharedTestService } from "../support/test-service.ts";

const { base } = await sharedTestService();

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(base + path, { method, headers });

/** What fetch does not show: the bytes as they came. */
async function bytesOf(path: string, headers: Readonly<Record<string, string>>) {
  const [response] = (await once(get(base + path, { headers }), "response")) as [IncomingMessage];
  return { response, bytes: await buffer(response) };
}

/** Addresses of what the page loads. */
async function loaded(): Promise<readonly string[]> {
  const html = await (await ask("/docs/api")).text();
  return Array.from(
    html.matchAll(/<(?:script defer src|link rel="stylesheet" href)="([^"]+)"/g),
    ([, address = ""]) => address,
  );
}

describe("GET /docs/api", () => {
  it("is a page whose content security policy allows only resources of this origin", async () => {
    const response = await ask("/docs/api", { accept: "text/html,*/*;q=0.8" });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("vary")).toContain("Accept");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).not.toContain("unsafe");
    const html = await response.text();
    expect(html).toContain("Not investment advice.");
    expect(html).toContain('<a href="/">Market Signal and Verification Service</a>');
    expect(html).toMatch(/<noscript>.*<a href="\/docs\/api\.md">/);
    expect(html.replace(/<script defer src="[^"]+"><\/script>/g, "")).not.toMatch(/<script|style=/);
  });

  it("names every operation exactly once without JavaScript", async () => {
    const html = await (await ask("/docs/api")).text();
    const document = (await (await ask("/docs/api/openapi.json")).json()) as {
      readonly paths: Readonly<Record<string, Readonly<Record<string, { summary: string }>>>>;
    };
    const lines = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(
        ([method, { summary }]) => `<code>${method.toUpperCase()} ${path}</code> ${summary}</li>`,
      ),
    );
    expect(Array.from(html.matchAll(/<code>[^<]*<\/code> [^<]*<\/li>/g), String).sort()).toEqual(
      lines.sort(),
    );
  });

  it("redirects a browser from an alternative host name to the canonical one, once, and no other client", async () => {
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
    const asset = await fetch(`${elsewhere}/docs/api/assets/start.js`, { redirect: "manual" });
    expect(asset.status).toBe(200);
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

  it("names every operation exactly once in Markdown", async () => {
    const text = await (await ask("/docs/api.md")).text();
    const document = (await (await ask("/docs/api/openapi.json")).json()) as {
      readonly paths: Readonly<Record<string, object>>;
    };
    const names = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `\`${method.toUpperCase()} ${path}\``),
    );
    for (const name of names) {
      const lines = text.split("\n").filter((line) => line.replace("- ", "").startsWith(name));
      expect(lines.length, name).toBe(1);
    }
  });

  it.each(["/docs/api", "/docs/api.md", "/docs/api/oauth2-redirect.html"])(
    "%s answers 304 to a matching If-None-Match, and HEAD like GET",
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
});

describe("an asset of the page", () => {
  it("has a content hash in its name and is cacheable for a year", async () => {
    const addresses = await loaded();
    expect(addresses.length).toBe(6);
    for (const address of addresses.filter((one) => one.startsWith("/docs/"))) {
      const response = await ask(address);
      expect(response.status, address).toBe(200);
      expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const old = await ask(address.replace(/v=.*/, "v=old"));
      expect(old.headers.get("cache-control")).toBe("no-cache");
      const etag = response.headers.get("etag") ?? "";
      expect((await ask(address, { "if-none-match": etag })).status).toBe(304);
    }
  });

  it("is served compressed as a separate representation to clients that accept it", async () => {
    const path = "/docs/api/assets/swagger-ui-bundle.js";
    const plain = await bytesOf(path, { "accept-encoding": "identity" });
    const small = await bytesOf(path, { "accept-encoding": "gzip" });
    expect(plain.response.headers["content-encoding"]).toBeUndefined();
    expect(small.response.headers).toMatchObject({
      "content-encoding": "gzip",
      vary: "Accept-Encoding",
      "content-type": "text/javascript; charset=utf-8",
    });
    expect(gunzipSync(small.bytes).equals(plain.bytes)).toBe(true);
    expect(small.bytes.length).toBeLessThan(plain.bytes.length / 3);
    expect(small.response.headers.etag).not.toBe(plain.response.headers.etag);
  });

  it.each(["swagger-ui.js", "..%2f..%2fpackage.json", "__proto__", "start.js.map"])(
    "is not served under another name: %s",
    async (name) => {
      expect((await ask(`/docs/api/assets/${name}`)).status).toBe(404);
    },
  );

  it("carries its license notice", async () => {
    const text = await (await ask("/docs/api/assets/swagger-ui-bundle.js.LICENSE.txt")).text();
    expect(text).toContain("@license");
  });
});
