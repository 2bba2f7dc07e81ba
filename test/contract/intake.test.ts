import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import express from "express";
import { describe, expect, it } from "vitest";
import { createAuditor } from "../../src/access/auditor.ts";
import { LastUseTracker } from "../../src/access/last-use.ts";
import { intakeRouter } from "../../src/http/api/apply-and-contact.ts";
import { notFoundHandler, SECURITY_HEADERS } from "../../src/http/errors.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { IntakeService } from "../../src/principals/applications/intake.ts";
import {
  applicantFocuses,
  readApplications,
  readInquiries,
} from "../../src/principals/applications/intake-records.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import type { AuditEntry } from "../../src/store/audit-entry.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import type { Records } from "../../src/store/port/records.ts";
import type { StoreMode } from "../../src/store/port/store.ts";
import { storeUnavailableProblem } from "../../src/store/port/unavailable.ts";
import { postJson } from "../support/agent.ts";
import { INVISIBLE_TEXTS } from "../support/invisible-texts.ts";
import { serveForTest } from "../support/local-server.ts";
import { problemHandler } from "../support/route-listener.ts";
import { embedded, openStore } from "../support/stores.ts";
import { verifies } from "../support/verifies.ts";

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ada = { name: "Ada Lovelace", email: "ada@host.example" };
const hello = { email: "ada@host.example", message: "Hello" };

interface Site {
  readonly mode?: StoreMode;
  /** Wraps the records of the store that the intake uses. */
  readonly records?: (records: Records) => Records;
}

/**
 * Starts a service that accepts early-access applications and inquiries, with its own limits and
 * store.
 */
async function open({ mode = "sandbox", records: wrapped = (same) => same }: Site = {}) {
  const { records, clock } = await openStore(embedded);
  const now = () => new Date(clock.now);
  const hashAddress = (address: string) => `hash of ${address}`;
  const audit = createAuditor({ hashAddress, now });
  const lastUse = new LastUseTracker({ records, now, onError: () => {} });
  const keys = new ApiKeyService({ records, mode, now, audit, lastUse });
  const intake = new IntakeService({
    records: wrapped(records),
    mode,
    now,
    audit,
    keys,
    hashAddress,
  });
  const failures: unknown[] = [];
  const app = express();
  app.set("trust proxy", 1);
  app.use((_req, res, next) => {
    res.set(SECURITY_HEADERS);
    next();
  });
  app.use(intakeRouter(intake, createLimits()));
  app.use(notFoundHandler);
  app.use(problemHandler((error) => failures.push(error)));
  const base = await serveForTest(app);
  let callers = 0;
  /** Posts from a new address each time, so that no rate limit is reached by accident. */
  const post = (path: string, body: unknown) => {
    callers += 1;
    const address = `10.0.${callers >> 8}.${callers & 255}`;
    return postJson(`${base}${path}`, body, { "x-forwarded-for": address });
  };
  const { port } = new URL(base);
  return { base, port, records, keys, clock, post, failures };
}

/** The members of an answer that these tests read. */
interface Answer {
  readonly success: boolean;
  readonly message: string;
  readonly data: Readonly<Record<string, string>>;
}
const answerOf = async (response: Response) => (await response.json()) as Answer;

/** Expects an error with a status and code. @returns The detail of the error. */
async function refused(response: Response, status: number, code: string): Promise<string> {
  expect(response.status).toBe(status);
  expect(response.headers.get("content-type")).toMatch(/^application\/problem\+json/);
  const problem = (await response.json()) as Record<string, unknown>;
  expect(problem).toMatchObject({ status, code });
  return String(problem.detail);
}

describe("an early-access application", () => {
  verifies(
    [
      "1/apply",
      "2.2/name",
      "2.2/email",
      "2.2/success",
      "2.2/message",
      "2.2/data",
      "2.2/data-queue-token",
      "2.2/data-name",
      "2.2/data-email",
      "2.2/data-focus",
      "2.2/data-registered-at",
      "4.2/json",
      "4.2/200",
      "4.2/seat",
      "5.4/3-apply",
    ],
    "is answered with the place in the queue and the submitted data, without a credential",
    async () => {
      const { post, clock, records } = await open();
      const response = await post("/api/apply", { ...ada, focus: "quant" });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(response.headers.get("cache-control")).toBe("no-store");
      const answer = await answerOf(response);
      expect(answer).toEqual({
        success: true,
        message: expect.stringMatching(/\w/),
        data: {
          ...{ queueToken: expect.stringMatching(/^\S{20,}$/), ...ada, focus: "quant" },
          registeredAt: new Date(clock.now).toISOString(),
          credential: expect.any(Object),
        },
      });
      expect(answer.data.registeredAt).toMatch(ISO);
      expect(await readApplications(records)).toMatchObject([{ ...ada, focus: "quant" }]);
    },
  );

  verifies(
    ["2.2/focus", "2.2/focus-retail", "2.2/focus-quant", "2.2/focus-fund", "2.2/focus-general"],
    "may specify one of four focus areas, or no focus area",
    async () => {
      expect(applicantFocuses).toEqual(["retail", "quant", "fund", "general"]);
      const { post } = await open();
      for (const focus of applicantFocuses) {
        const { data } = await answerOf(await post("/api/apply", { ...ada, focus }));
        expect(data.focus).toBe(focus);
      }
      const { data } = await answerOf(await post("/api/apply", ada));
      expect(data).not.toHaveProperty("focus");
      for (const focus of ["hedge", "Quant", "", null, 1, ["quant"]]) {
        const detail = await refused(
          await post("/api/apply", { ...ada, focus }),
          400,
          "invalid_request",
        );
        expect(detail).toMatch(/^focus: must be one of retail, quant, fund, general\.$/);
      }
    },
  );

  verifies(
    ["4.2/test-credentials", "4.2/test-credentials-told"],
    "yields an API key with the read scopes in the sandbox, and the answer says so",
    async () => {
      const { post, keys, clock } = await open();
      const { data, message } = await answerOf(
        await post("/api/apply", { ...ada, focus: "quant" }),
      );
      const key = await keys.find(data.queueToken ?? "");
      expect(key?.scopes).toEqual(["signals:read", "factor:read", "darkpool:read"]);
      expect(data.credential).toEqual({
        ...{ type: "api_key", header: "x-api-key", scope: key?.scopes.join(" ") },
        expiresAt: new Date(clock.now + 7 * 86_400_000).toISOString(),
      });
      expect(message).toContain("API key");
      const real = await open({ mode: "live" });
      const other = await answerOf(await real.post("/api/apply", { ...ada, focus: "quant" }));
      expect(other.data.queueToken).toMatch(/^queue_/);
      expect(await real.keys.find(other.data.queueToken ?? "")).toBeUndefined();
      expect(other.data).not.toHaveProperty("credential");
      expect(other.message).not.toContain("API key");
    },
  );

  verifies(
    ["4.2/validated", "4.2/400", "7/apply-email"],
    "is rejected for an invalid email address, and nothing is stored",
    async () => {
      const { post, records } = await open();
      const wrong = [
        ...[undefined, null, 1, "", "ada", "ada@", "@host.example", "a b@host.example", ["a@b.c"]],
        ...["ada@host.example\r\nBcc: eve@host.example", "ada@host.example,eve@host.example"],
        ...["Ada <ada@host.example>", "ad\u00e1@host.example", `${"a".repeat(250)}@host.example`],
        ...["ada@host.example\0", "ada@host.example\u202e", { $ne: "" }],
      ];
      for (const email of wrong) {
        const response = await post("/api/apply", { ...ada, email });
        const detail = await refused(response, 400, "invalid_request");
        expect(detail, JSON.stringify(email)).toMatch(/^email: must/);
      }
      expect(await readApplications(records)).toEqual([]);
    },
  );

  verifies(
    ["4.2/400", "7/apply-name", "8/sanitized", "8/sanitized-markup"],
    "is rejected for an invalid name, and nothing is stored",
    async () => {
      const { post, records } = await open();
      const wrong = [
        ...[undefined, null, 1, "", "  ", "a".repeat(101), ["Ada"], { toString: "Ada" }],
        ...["<script>alert(1)</script>", "Ada<b", "Ada\0", "Ada\u001b[2J", "\u202eadA", "\ud800"],
        ...["https://evil.example", "www.evil.example", "javascript://x"],
        ...["javascript:alert(1)", "data:text/html,x", ...INVISIBLE_TEXTS],
      ];
      for (const name of wrong) {
        const response = await post("/api/apply", { ...ada, name });
        const detail = await refused(response, 400, "invalid_request");
        expect(detail, JSON.stringify(name)).toMatch(/^name: (must|has at most)/);
      }
      expect(await readApplications(records)).toEqual([]);
    },
  );

  verifies(
    ["4.2/sanitized", "2.2/data-name", "2.2/data-email"],
    "is stored in normalized form, while the answer repeats the email address as submitted",
    async () => {
      const { post, records } = await open();
      const sent = { name: "  Ame\u0301lie \n O'Neil & Co ", email: " ADA@Host.Example " };
      const kept = { name: "Am\u00e9lie O'Neil & Co", email: "ada@host.example" };
      const { data } = await answerOf(await post("/api/apply", sent));
      expect(data).toMatchObject({ ...kept, email: sent.email });
      expect(await readApplications(records)).toMatchObject([kept]);
    },
  );

  verifies(
    ["4.2/sanitized", "8/sanitized"],
    "keeps a name in the syntax of a query language as the text that it is",
    async () => {
      const { post, records } = await open();
      const name = "Robert'); DROP TABLE applications; --";
      const { data } = await answerOf(await post("/api/apply", { ...ada, name }));
      expect(data.name).toBe(name);
      expect(await readApplications(records)).toMatchObject([{ ...ada, name }]);
    },
  );

  verifies(
    ["7/apply-payload", "4.2/400"],
    "is rejected for a malformed payload in the same error format",
    async () => {
      const { base, post } = await open();
      const invalid = Buffer.from(JSON.stringify({ ...ada, name: "Am\u00e9lie" }), "latin1");
      for (const payload of [null, [], [ada], "text", 1, true]) {
        await refused(await post("/api/apply", payload), 400, "invalid_request");
      }
      for (const body of ["", "{", "{'name':1}", "\ufeff", "name=Ada", '{"name":"a"}{}', invalid]) {
        const headers = { "content-type": "application/json" };
        const response = await fetch(`${base}/api/apply`, { method: "POST", headers, body });
        await refused(response, 400, "invalid_request");
      }
      const bare = await fetch(`${base}/api/apply`, { method: "POST" });
      await refused(bare, 400, "invalid_request");
      const detail = await refused(await post("/api/apply", {}), 400, "invalid_request");
      expect(detail).toMatch(/^name: must be a string; email: must be an email address\.$/);
    },
  );

  it("may have unknown members, which are not stored", async () => {
    const { post, records } = await open();
    const more = { ...ada, state: "accepted", id: "app_mine", seat: "x", company: "<b>" };
    const { data } = await answerOf(await post("/api/apply", more));
    expect(Object.keys(data)).toEqual([
      "queueToken",
      "name",
      "email",
      "registeredAt",
      "credential",
    ]);
    const [application] = await readApplications(records);
    expect(application).toMatchObject({ ...ada, state: "waiting" });
    expect(application).not.toHaveProperty("company");
  });

  it("has no further effect when it is repeated, and each answer says which application is kept without revealing the repetition", async () => {
    const { post, records, clock } = await open();
    const first = await answerOf(await post("/api/apply", ada));
    clock.now += 60_000;
    const second = await answerOf(await post("/api/apply", { ...ada, name: "Eve" }));
    const other = await answerOf(await post("/api/apply", { name: "Eve", email: "eve@a.example" }));
    expect(Object.keys(second.data)).toEqual(Object.keys(first.data));
    expect(second).toEqual({
      ...other,
      data: { ...other.data, email: ada.email, queueToken: second.data.queueToken },
    });
    expect(second.data.queueToken).not.toBe(first.data.queueToken);
    expect(first.message).toMatch(/data repeats this request\..* its first: .* kept as it was/);
    const kept = await readApplications(records);
    expect(kept.map(({ name, email }) => ({ name, email }))).toEqual([
      ada,
      { name: "Eve", email: "eve@a.example" },
    ]);
  });

  verifies(
    ["4.2/429", "7/apply-rate", "8/apply-rate"],
    "is rejected, with the time to wait, when its address has sent five applications within an hour",
    async () => {
      const { base, records } = await open();
      const from = (address: string, email: string) =>
        postJson(`${base}/api/apply`, { ...ada, email }, { "x-forwarded-for": address });
      for (let at = 0; at < 5; at += 1) {
        expect((await from("192.0.2.1", `a${at}@host.example`)).status).toBe(200);
      }
      const response = await from("192.0.2.1", "a5@host.example");
      expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(3590);
      expect(response.headers.get("ratelimit")).toMatch(/^"submissions";r=0;t=\d+$/);
      await refused(response, 429, "rate_limited");
      expect(await readApplications(records)).toHaveLength(5);
      expect((await from("192.0.2.2", "a6@host.example")).status).toBe(200);
    },
  );

  it("does not count against the limit when it is invalid", async () => {
    const { base } = await open();
    for (let at = 0; at < 10; at += 1) {
      expect((await postJson(`${base}/api/apply`, { ...ada, email: "ada" })).status).toBe(400);
    }
    expect((await postJson(`${base}/api/apply`, ada)).status).toBe(200);
  });
});

describe("an inquiry", () => {
  verifies(
    ["1/contact", "2.3/email", "2.3/message", "4.3/json", "4.3/200", "5.4/3-contact"],
    "is stored and answered with a reference, without a credential",
    async () => {
      const { post, clock, records } = await open();
      const message = "Two lines\nand <3, 1 < 2 & \u{1f600}";
      const response = await post("/api/contact", { ...hello, message });
      expect(response.status).toBe(200);
      const receivedAt = new Date(clock.now).toISOString();
      const answer = await answerOf(response);
      expect(answer).toEqual({
        success: true,
        message: expect.stringMatching(/\w/),
        data: { reference: expect.stringMatching(/^inq_\w{16}$/), receivedAt },
      });
      expect(await readInquiries(records)).toEqual([
        {
          ...{ reference: answer.data.reference, email: hello.email, message },
          receivedAt: clock.now,
        },
      ]);
    },
  );

  verifies(
    ["4.3/400", "7/contact-input", "8/sanitized", "8/sanitized-markup"],
    "is rejected for invalid input, and nothing is stored",
    async () => {
      const { post, records } = await open();
      const wrong = [
        ...[null, [], {}, "text", { ...hello, email: "ada" }, { ...hello, message: 1 }],
        ...[{ message: "Hello" }, { email: hello.email }, { ...hello, message: "a\0b" }],
        ...[
          { ...hello, message: "a\u001b]0;x\u0007" },
          { ...hello, message: "Hello <script>alert(1)</script>" },
          { ...hello, message: "Open javascript:alert(1)" },
          { ...hello, message: "a".repeat(5001) },
        ],
        ...[
          { ...hello, message: "\u2066a" },
          { ...hello, message: "\udfff" },
        ],
        ...[{ ...hello, email: "a@host.example\nBcc: b@host.example" }],
      ];
      for (const body of wrong) {
        await refused(await post("/api/contact", body), 400, "invalid_request");
      }
      expect(await readInquiries(records)).toEqual([]);
    },
  );

  verifies(["7/contact-empty", "4.3/400"], "is rejected for an empty message", async () => {
    const { post, records } = await open();
    for (const message of ["\n\r\n\t", ...INVISIBLE_TEXTS]) {
      const response = await post("/api/contact", { ...hello, message });
      expect(await refused(response, 400, "invalid_request")).toBe("message: must not be empty.");
    }
    expect(await readInquiries(records)).toEqual([]);
  });

  it("is rejected from an address that has sent five in an hour", async () => {
    const { base } = await open();
    for (let at = 0; at < 5; at += 1) {
      expect((await postJson(`${base}/api/contact`, hello)).status).toBe(200);
    }
    const response = await postJson(`${base}/api/contact`, hello);
    expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    await refused(response, 429, "rate_limited");
  });
});

describe.each(["/api/apply", "/api/contact"])("%s", (path) => {
  const body = JSON.stringify({ ...ada, ...hello });
  const post = (base: string, init: RequestInit) =>
    fetch(`${base}${path}`, {
      method: "POST",
      ...init,
      headers: { "content-type": "application/json", ...init.headers },
    });

  verifies(
    ["7/apply-payload", "4.2/400", "4.3/400", "7/contact-input"],
    "answers 400 to a body of more than 16 kB",
    async () => {
      const { base, failures } = await open();
      const padded = (bytes: number) => body.padEnd(bytes, " ");
      expect((await post(base, { body: padded(16_384) })).status).toBe(200);
      await refused(await post(base, { body: padded(16_385) }), 400, "invalid_request");
      expect(failures).toEqual([]);
    },
  );

  it("accepts a body of at most 16 kB without Content-Length", async () => {
    const { port } = await open();
    const socket = connect(Number(port), "127.0.0.1");
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`);
    socket.write("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
    const chunk = `1000\r\n${" ".repeat(4096)}\r\n`;
    for (let sent = 0; sent < 5; sent += 1) socket.write(chunk);
    socket.write("0\r\n\r\n");
    let answer = "";
    for await (const part of socket) answer += part;
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
  });

  verifies(
    ["7/apply-payload", "4.2/400", "4.3/400", "7/contact-input"],
    "answers 400 to a body that is not uncompressed JSON in UTF-8",
    async () => {
      const { base } = await open();
      const unsupported: readonly RequestInit[] = [
        { body, headers: { "content-type": "text/plain" } },
        { body, headers: { "content-type": "application/x-www-form-urlencoded" } },
        { body: gzipSync(body), headers: { "content-encoding": "gzip" } },
      ];
      for (const init of unsupported) {
        await refused(await post(base, init), 400, "invalid_request");
      }
      const headers = { "content-type": "Application/JSON; charset=UTF-8" };
      expect((await post(base, { body, headers })).status).toBe(200);
    },
  );

  it("answers 400 to JSON that is nested more than eight levels deep", async () => {
    const { base } = await open();
    const nested = (levels: number) =>
      JSON.stringify({
        ...ada,
        ...hello,
        more: JSON.parse("[".repeat(levels) + "]".repeat(levels)),
      });
    expect((await post(base, { body: nested(7) })).status).toBe(200);
    const detail = await refused(await post(base, { body: nested(8) }), 400, "invalid_request");
    expect(detail).toBe("A body nests at most 8 levels deep.");
  });

  it("supports only POST", async () => {
    const { base } = await open();
    for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const response = await fetch(`${base}${path}`, { method });
      expect(response.headers.get("allow")).toBe("POST");
      await refused(response, 405, "method_not_allowed");
    }
  });

  it("is answered only after it is stored durably, and with an error when the store fails", async () => {
    const { base } = await open({
      records: (records) => ({
        ...records,
        commit: () => Promise.reject(storeUnavailableProblem("down")),
      }),
    });
    await refused(await post(base, { body }), 503, "store_unavailable");
  });

  it("adds an audit row with the hashed IP address and without the submitted text", async () => {
    const { base, records } = await open();
    await post(base, { body, headers: { "x-forwarded-for": "192.0.2.9" } });
    const rows = await records.list(unsealedAudit, { limit: 10 });
    const entries = rows.map(({ value }) => value.body as AuditEntry);
    expect(entries[0]).toMatchObject({ actor: "anonymous", addressHash: "hash of 192.0.2.9" });
    expect(JSON.stringify(entries)).not.toMatch(/\b(ada|hello)\b/i);
  });
});
