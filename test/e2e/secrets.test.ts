// @module-tag full

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { ChannelKind } from "../../src/alerts/channels/targets.ts";
import { admin } from "../support/admin.ts";
import { getWith, postForm, postJson, register, tokenOf } from "../support/agent.ts";
import { addChannel } from "../support/channel-pages.ts";
import { freePort } from "../support/free-port.ts";
import { createPerson, type Person } from "../support/person.ts";
import { type RunningProcess, startProcess, temporaryFolder } from "../support/process.ts";
import { PROGRAM } from "../support/program.ts";
import { codesIn, LOOSE_LIMITS } from "../support/test-service.ts";
import type { WebPage } from "../support/web.ts";

/** Texts to search for, mostly secrets, by name. */
type Planted = Readonly<Record<string, string>>;

const random = () => randomBytes(24).toString("base64url");

/** Returns every encoding in which a secret may appear in another text. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  // In base64, a text has three forms, one per byte offset; characters shared with neighboring bytes
  // are cut off.
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
    const start = Math.ceil((offset * 8) / 6);
    return text.slice(start, Math.floor(((offset + bytes.length) * 8) / 6));
  });
  const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const url = base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_"));
  const plain = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
  return [...plain, ...base64, ...url, bytes.toString("hex"), percent];
}

/**
 * Names of the secrets that a text contains in any form. Numeric codes within longer digit runs are
 * ignored as coincidence.
 */
function foundIn(text: string, planted: Planted): readonly string[] {
  const lower = text.toLowerCase();
  const holds = (form: string) =>
    /^\d+$/.test(form)
      ? new RegExp(`(?<![\\d.])${form}(?!\\d)`).test(text)
      : text.includes(form) || (/^(%|[\da-f]+$)/.test(form) && lower.includes(form.toLowerCase()));
  return Object.keys(planted).filter((name) => formsOf(planted[name] as string).some(holds));
}

describe("the search for secrets", () => {
  const planted = { secret: "s3cret+of/mine?", code: "48151623" };

  it.each([
    ["in plain text", (text: string) => `x${text}y`],
    ["in a JSON string", (text: string) => JSON.stringify({ text })],
    ["in a URL", (text: string) => `?q=${encodeURIComponent(text)}`],
    [
      "with every byte escaped",
      (text: string) => text.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
    ],
    ["in hexadecimal", (text: string) => Buffer.from(text).toString("hex").toUpperCase()],
    ["in base64 at byte offset 0", (text: string) => Buffer.from(`${text}:x`).toString("base64")],
    ["in base64 at byte offset 1", (text: string) => Buffer.from(`a${text}:x`).toString("base64")],
    ["in base64 at byte offset 2", (text: string) => Buffer.from(`ab${text}:x`).toString("base64")],
    ["in base64url", (text: string) => Buffer.from(`user:${text}`).toString("base64url")],
  ])("finds a secret %s", (_how, written) => {
    for (const [name, text] of Object.entries(planted)) {
      expect(foundIn(`before ${written(text)} after`, planted)).toEqual([name]);
    }
  });

  it("finds nothing in text without secrets", () => {
    expect(foundIn("148151623 0.48151623 s3cret", planted)).toEqual([]);
  });
});

interface Watched extends RunningProcess {
  readonly said: () => string;
}

/** Starts the service and collects all its output. */
async function startWatched(env: Readonly<Record<string, string>>): Promise<Watched> {
  // A sandbox reachable only from this machine prints sign-in codes; one behind a proxy does not.
  const reached = { TRUST_PROXY: "1", RATE_LIMITS: LOOSE_LIMITS };
  const started = await startProcess({ LOG_LEVEL: "debug", ...reached, ...env });
  let said = JSON.stringify(started.ready);
  for (const stream of [started.child.stdout, started.child.stderr]) {
    stream?.on("data", (chunk) => {
      said += chunk;
    });
  }
  return { ...started, said: () => said };
}

/** Runs an operator command. @returns Its standard output. */
async function ask(env: Readonly<Record<string, string>>, ...argv: readonly string[]) {
  const { code, out, error } = await admin(env, ...argv);
  expect(error).toBe("");
  expect(code).toBe(0);
  return out;
}

describe("a complete journey with every kind of failure", async () => {
  const DATA_DIR = temporaryFolder();
  const [mailPort, proxyPort, loginPort] = [await freePort(), await freePort(), await freePort()];
  const METRICS_PORT = await freePort();
  const configured = {
    MASTER_KEY: randomBytes(32).toString("base64"),
    "SMTP password": random(),
    "proxy password": random(),
    "OIDC client secret": random(),
    "provider key": random(),
    "provider secret": random(),
  };
  const env = {
    ...{ DATA_DIR, METRICS_PORT, MASTER_KEY: configured.MASTER_KEY, ALLOW_INSECURE_WEBHOOKS: "1" },
    SMTP_URL: `smtp://mailer:${configured["SMTP password"]}@127.0.0.1:${mailPort}`,
    MAIL_FROM: "signals@mail.example",
    WEBHOOK_EGRESS_PROXY: `http://user:${configured["proxy password"]}@127.0.0.1:${proxyPort}`,
    OIDC_ISSUER: `http://127.0.0.1:${loginPort}`,
    OIDC_CLIENT_ID: "signals",
    OIDC_CLIENT_SECRET: configured["OIDC client secret"],
    APCA_API_KEY_ID: configured["provider key"],
    APCA_API_SECRET_KEY: configured["provider secret"],
  };
  const email = `planted-${randomBytes(9).toString("hex")}@people.example`;
  const mailbox = `channel-${randomBytes(9).toString("hex")}@people.example`;
  const ofChannels = {
    "path of the Slack webhook": random(),
    "token of the Discord webhook": random(),
    "token of the Telegram bot": random(),
    "ntfy topic": random(),
    "ntfy token": `tk_${random()}`,
  };
  const seen: Record<string, string> = { ...configured, ...ofChannels };
  /** Input for each channel: the target, and a token where the kind has one. */
  const channels: Readonly<Record<ChannelKind, readonly [to: string, token?: string]>> = {
    slack: [`https://hooks.slack.com/services/T0/B0/${ofChannels["path of the Slack webhook"]}`],
    discord: [
      `https://discord.com/api/webhooks/123456/${ofChannels["token of the Discord webhook"]}`,
    ],
    telegram: ["-1001234567890", `123456:${ofChannels["token of the Telegram bot"]}`],
    ntfy: [`https://ntfy.sh/${ofChannels["ntfy topic"]}`, ofChannels["ntfy token"]],
    email: [mailbox],
  };
  /** Collected pages and API answers about the channels. */
  let shown = "";
  let server: Watched;
  let agentId = "";

  const textsTo = async (address: string) => {
    const { messages } = JSON.parse(await ask({ DATA_DIR }, "mail", "--json")) as {
      readonly messages: readonly { readonly to: string; readonly text: string }[];
    };
    return messages.filter(({ to }) => to === address).map(({ text }) => text);
  };
  const codeOf = async (address: string) => {
    const code = (await textsTo(address)).flatMap(codesIn).at(-1) ?? "";
    seen["sign-in code"] = code;
    return code;
  };
  /** Waits for the verification code that was sent to the mailbox. */
  const channelCode = () =>
    vi.waitFor(
      async () => {
        const [code] = (await textsTo(mailbox)).flatMap(codesIn);
        if (code === undefined) throw new Error("The mailbox has no code.");
        return code;
      },
      { timeout: 30_000 },
    );
  /** Adds a channel of each kind. @returns The account page, which lists all channels. */
  const withChannels = async (web: Person["web"]): Promise<WebPage> => {
    let page = await web.get("/account");
    for (const [kind, [to, token = ""]] of Object.entries(channels)) {
      const target = { kind: kind as ChannelKind, to, token };
      page = await addChannel({ web }, target, `my ${kind}`);
    }
    return page;
  };

  beforeAll(async () => {
    server = await startWatched(env);
    const { baseUrl } = server;

    const agent = await register(baseUrl, { scope: "signals:read alerts:write" });
    agentId = agent.client_id;
    seen["client secret"] = agent.client_secret;
    seen["registration token"] = agent.registration_access_token;
    const anonymous = await tokenOf(baseUrl, agent);
    seen["access token"] = anonymous;

    const person = createPerson({ base: baseUrl, email, codeOf });
    await person.signIn();
    for (const cookie of person.web.cookie("/account").split("; ")) {
      const [name = "", ...value] = cookie.split("=");
      // A path to return to is no secret.
      if (name === "market-signal-place") continue;
      seen[`cookie ${name}`] = value.join("=");
    }
    const { code } = (agent as unknown as { readonly claim: { readonly code: string } }).claim;
    seen["claim code"] = code;
    await person.claim(agentId, "WRNG0000").catch(() => undefined);
    await person.claim(agentId, code);
    const key = await person.createKey(["signals:read", "alerts:write"]);
    seen["API key"] = key;
    const tokens = await person.tokens();
    seen["refresh token"] = tokens.refresh_token;
    seen["authorization code"] = tokens.code;

    const claimed = await tokenOf(baseUrl, agent);
    seen["second access token"] = claimed;
    const bearer = { authorization: `Bearer ${claimed}` };
    seen["path of the webhook"] = random();
    const made = await postJson(
      `${baseUrl}/api/alerts`,
      {
        symbols: ["ALDER.SIM"],
        delivery: {
          type: "webhook",
          url: `http://127.0.0.1:${proxyPort}/${seen["path of the webhook"]}`,
        },
      },
      bearer,
    );
    const alert = await made.text();
    expect(made.status, alert).toBe(201);
    seen["webhook secret"] = /whsec_[^"]+/.exec(alert)?.[0] ?? "";

    const account = await withChannels(person.web);
    const card = account.html.split('<li class="card">').find((one) => one.includes(mailbox)) ?? "";
    const [, id = ""] = /channels\/(chan_\w{16})\//.exec(card) ?? [];
    const entered = { code: await channelCode() };
    const verified = await person.web.submit(
      account.form(`/account/channels/${id}/verify`),
      entered,
    );
    const told = await postJson(
      `${baseUrl}/api/alerts`,
      { symbols: ["ALDER.SIM"], channel: "my email" },
      { "x-api-key": key },
    );
    shown = [verified.html, await told.text()].join("\n");
    expect(told.status, shown).toBe(201);

    // Sends the same secrets again in places where they do not belong.
    const form = {
      client_id: agentId,
      client_secret: `${agent.client_secret}x`,
      code: tokens.code,
    };
    await postForm(`${baseUrl}/oauth/token`, { grant_type: "client_credentials", ...form });
    await postForm(`${baseUrl}/oauth/token`, { grant_type: "authorization_code", ...form });
    await postForm(`${baseUrl}/oauth/revoke`, { token: key, token_type_hint: "nonsense" });
    for (const secret of Object.values(seen)) {
      const asked = encodeURIComponent(secret);
      await fetch(`${baseUrl}/${asked}?access_token=${asked}`, {
        headers: { cookie: `a=${asked}` },
      });
      await getWith(`${asked}x`, `${baseUrl}/api/signals?symbol=${asked}`);
      await fetch(`${baseUrl}/api/signals`, { headers: { "x-api-key": `${asked}x` } });
      await fetch(`${baseUrl}/oauth/register/${asked}`, {
        headers: { authorization: `Bearer ${asked}` },
      });
      const json = { method: "POST", headers: { "content-type": "application/json", ...bearer } };
      await fetch(`${baseUrl}/mcp`, { ...json, body: `{"secret":"${asked}` });
      await postJson(`${baseUrl}/api/alerts`, { symbols: [secret], label: secret }, bearer);
      await postJson(`${baseUrl}/api/contact`, { name: secret, email, message: 5 });
    }
    const login = await person.web.get("/sign-in");
    for (const { action } of login.forms) {
      await fetch(action, { method: "POST", redirect: "manual" });
    }
    await fetch(`${baseUrl}/sign-in/callback?code=${random()}&state=x`, { redirect: "manual" });
    await vi.waitFor(() => expect(server.said()).toContain("could not be sent"), {
      timeout: 60_000,
    });
    await person.web.submit((await person.web.get("/account")).form("/sign-out"));
  });

  it("uses every kind of secret", () => {
    expect(Object.entries(seen).filter(([, text]) => text.length < 8)).toEqual([]);
    expect(Object.keys(seen).length).toBeGreaterThanOrEqual(23);
  });

  it("leaves no secret and no email address in the log", () => {
    expect(foundIn(server.said(), { ...seen, email, mailbox })).toEqual([]);
    // Guards against a check of an empty log.
    expect(server.said()).toContain(agentId);
    expect(server.said().split("\n").length).toBeGreaterThan(100);
  });

  it("leaves no secret in the metrics", async () => {
    const text = await (await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`)).text();
    expect(foundIn(text, { ...seen, email, mailbox })).toEqual([]);
    expect(text).toContain("market_signal_http_request_duration_seconds_count");
  });

  it("leaves no secret in the output of operator commands", async () => {
    const told = [await ask({ DATA_DIR }, "status"), await ask({ DATA_DIR }, "status", "--json")];
    expect(foundIn(told.join(), { ...seen, email, mailbox })).toEqual([]);
    expect(told[0]).toContain("Error");
  });

  it("leaves no secret of a channel in pages and answers", () => {
    expect(foundIn(shown, seen)).toEqual([]);
    // Guards against a check of pages without the channels.
    for (const hint of ["hooks.slack.com", "discord.com", "chat -1001234567890", "ntfy.sh"]) {
      expect(shown).toContain(hint);
    }
    expect(shown).toContain(mailbox);
  });

  it("leaves no secret in the store and in backups of both kinds, except email addresses", async () => {
    const backup = join(DATA_DIR, "..", `${random()}.gz`);
    const copy = join(DATA_DIR, "..", `${random()}.sqlite`);
    await storeCommand("backup", backup);
    await storeCommand("backup", copy);
    const files = ["store.sqlite", "store.sqlite-wal"];
    for (const text of [
      gunzipSync(readFileSync(backup)).toString(),
      readFileSync(copy, "latin1"),
      files.map((name) => readFileSync(join(DATA_DIR, name), "latin1")).join(),
    ]) {
      expect(foundIn(text, { ...seen, agentId })).toEqual(["agentId"]);
    }
  });

  async function storeCommand(name: string, file: string): Promise<void> {
    const { execFile } = await import("node:child_process");
    await new Promise<void>((resolve, reject) => {
      const told = (failure: Error | null) => (failure ? reject(failure) : resolve());
      const place = { PATH: process.env.PATH ?? "", DATA_DIR };
      execFile(process.execPath, [PROGRAM, "store", name, file], { env: place }, told);
    });
  }
});
