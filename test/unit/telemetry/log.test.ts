import { describe, expect, it } from "vitest";
import { secretSettingValues } from "../../../src/config/config.ts";
import { currentRequestId, requestIdFrom, runWithRequestId } from "../../../src/lib/request-id.ts";
import { createProcessLog, createSecretRedactor } from "../../../src/telemetry/log.ts";

const TOKEN = "q7Zt0Vd2mKx9LbN5dWgP1rYhTe8uCs4JfAo6iRk3XyE";

function logOf(secrets: readonly string[] = []) {
  const lines: string[] = [];
  const opened = createProcessLog({ level: "debug", secrets, write: (line) => lines.push(line) });
  return { ...opened, lines, last: () => JSON.parse(lines.at(-1) ?? "{}") };
}

describe("the service log", () => {
  it.each([
    ["the password in a URL", "cannot reach smtp://mailer:hunter2@mail.example:25"],
    ["the user name in a URL", "cannot reach https://hunter2@mail.example/"],
    ["an email address", "no mailbox hunter2@example.com"],
    ["an encoded email address", "no mailbox hunter2%40example.com"],
    ["the credentials in an Authorization header", "sent Authorization: Bearer hunter2"],
    ["an API key", "unknown key msv_test_hunter2"],
    ["a signing secret", "signed with whsec_hunter2="],
  ])("redacts %s in every position", (_what, text) => {
    const { log, lines } = logOf();
    log.warn({ err: new Error(text), note: text }, text);
    expect(lines.join()).toContain("[hidden]");
    expect(lines.join()).not.toContain("hunter2");
  });

  it("redacts long tokens in errors and their causes, but not ids", () => {
    const { log, last, lines } = logOf();
    const cause = new Error(`refused ${TOKEN}`);
    const id = "1cf0a5a2-52c3-4f0c-9a55-6d3c3f0b7d11";
    log.error({ err: new Error(`request ${id} failed`, { cause }), clientId: "agt_1" }, "failed");
    expect(lines.join()).not.toContain(TOKEN);
    expect(last().err).toMatchObject({
      message: `request ${id} failed`,
      cause: { message: "refused [hidden]" },
    });
    expect(last().clientId).toBe("agt_1");
  });

  it("includes the message, stack and code of an error, but not what libraries attach to it", () => {
    const { log, last } = logOf();
    const error = Object.assign(new TypeError("no"), { code: "E_NO", response: { body: "x" } });
    log.error({ err: error }, "failed");
    expect(Object.keys(last().err).sort()).toEqual(["message", "reason", "stack", "type"]);
    expect(last().err).toMatchObject({ type: "TypeError", reason: "E_NO" });
  });

  it("redacts secret members by name, and includes only a few HTTP headers", () => {
    const { log, last } = logOf();
    log.info({ password: "a1", form: { client_secret: "a2", code: "a3" } });
    expect(last()).toMatchObject({ password: "[hidden]", form: { client_secret: "[hidden]" } });
    log.info({ headers: { authorization: "a4", cookie: "a5", accept: "text/html" } });
    expect(last().headers).toEqual({ accept: "text/html" });
  });

  it("redacts secret settings in every encoding, but not short values", () => {
    const secret = "p@ss word/1";
    const forms = ["utf8", "base64", "base64url", "hex"] as const;
    const hide = createSecretRedactor([secret, "abc"]);
    for (const form of forms) {
      expect(hide(`x ${Buffer.from(secret).toString(form)} abc`)).toBe("x [hidden] abc");
    }
    expect(hide(encodeURIComponent(secret))).toBe("[hidden]");
  });

  it("recognizes every secret setting, including the password in a URL", () => {
    const env = {
      SMTP_URL: "smtp://mailer:s%2Fecret1@mail.example",
      MASTER_KEY: "key",
      HOST: "127.0.0.1",
    };
    expect(secretSettingValues(env).toSorted()).toEqual(
      [env.SMTP_URL, "s%2Fecret1", "s/ecret1", "key"].toSorted(),
    );
  });

  it("keeps the ten latest errors for the operator, as redacted in the log", () => {
    const { log, lastErrors } = logOf();
    log.warn("no error");
    for (let at = 1; at <= 12; at++) log.error({ err: new Error(`a@b.example ${at}`) }, "failed");
    expect(lastErrors().map(({ text }) => text)).toEqual(
      Array.from({ length: 10 }, (_, at) => `failed: [hidden] ${at + 3}`),
    );
  });

  it("redacts secrets at the start of a line and inside JSON text", () => {
    const { log, last, lastErrors } = logOf(['"msg":"fa']);
    const told = "\nmsv_test_hunter2\n\tBearer hunter2\nhunter2@example.com";
    log.error({ note: "\nwhsec_hunter2=" }, `failed${told}`);
    const hidden = "failed\n[hidden]\n\tBearer [hidden]\n[hidden]";
    expect(last()).toMatchObject({ msg: hidden, note: "\n[hidden]" });
    expect(lastErrors().map(({ text }) => text)).toEqual([hidden]);
  });

  it("redacts secrets that are member names or numbers", () => {
    const { log, last } = logOf(["hunter2", "12345678"]);
    log.info({ seen: { hunter2: 1, "jane@example.com": 2 }, by: 12_345_678, left: 3 });
    expect(last()).toMatchObject({ seen: { "[hidden]": 2 }, by: "[hidden]", left: 3 });
  });

  it("adds the request id to every line of a request", () => {
    const { log, last } = logOf();
    runWithRequestId("r-1", () => log.warn("here"));
    expect(last().requestId).toBe("r-1");
    log.warn("elsewhere");
    expect(last()).not.toHaveProperty("requestId");
  });
});

describe("a request id", () => {
  it("is taken from the caller if well formed, and otherwise generated", () => {
    expect(requestIdFrom("a.B_c-9")).toBe("a.B_c-9");
    const made = [undefined, "", "a b", "a".repeat(65), "ä", ["a", "b"]].map(requestIdFrom);
    for (const id of made) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(new Set(made).size).toBe(made.length);
  });

  it("is available to everything that the handler calls, and nowhere else", async () => {
    const both = ["a", "b"].map((id) =>
      runWithRequestId(id, async () => {
        await Promise.resolve();
        return currentRequestId();
      }),
    );
    expect(await Promise.all(both)).toEqual(["a", "b"]);
    expect(currentRequestId()).toBeUndefined();
  });
});
