import { mkdtempSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import pino from "pino";
import { type MarketChoice, readConfig } from "../../src/config/config.ts";
import { quotas } from "../../src/limits/limits.ts";
import { mails, openedEmail } from "../../src/mail/outbox.ts";
import { createService, type Service, type ServiceOptions } from "../../src/service.ts";
import { createKeyringVault } from "../../src/store/keys/keyring-vault.ts";
import { atFileEnd } from "./file-end.ts";
import { createPerson, type Person } from "./person.ts";

import { borrowSandbox, isUsualSandbox } from "./shared-sandbox.ts";

/** A quiet instant of the sandbox, so that every run sees the same market. */
export const SANDBOX_NOW = new Date("2026-11-21T05:00:30.000Z");

/** Limits that no test of something else meets, as the setting is written. */
export const LOOSE_LIMITS = Object.keys(quotas)
  .map((name) => `${name}=100000/3600`)
  .join(" ");

/** A service in this process, with people who use it. */
export interface TestService {
  /** Where it listens. */
  readonly base: string;
  readonly service: Service;
  /** `DATA_DIR`. */
  readonly folder: string;
  /** Moved by the test. */
  readonly clock: { now: Date };
  /** Moves the clock to an instant of a later session, and resolves when that session is scored. */
  advanceTo(now: Date): Promise<void>;
  /** Failures that were logged, newest last. */
  readonly logged: readonly string[];
  /** A new person, or one with a given address, at a new browser. */
  person(email?: string): Person;
  /** The texts of the emails that wait for an address, oldest first. */
  emailsTo(email: string): Promise<readonly string[]>;
  /** The sign-in codes in them. */
  codesTo(email: string): Promise<readonly string[]>;
  /** Ends it before the file does. */
  stop(): Promise<void>;
}

let shared: Promise<TestService> | undefined;

/**
 * The service of all test files of a worker that need none of their own, with the settings as they
 * come. Use it where a test moves no clock, stops nothing, changes no limit and counts nothing that
 * others add to. Starting one costs more than a second of CPU, most of it to score the sandbox.
 */
export function sharedTestService(): Promise<TestService> {
  shared ??= openTestService({
    DATA_DIR: mkdtempSync(join(process.env.TEST_FOLDER ?? tmpdir(), "shared-")),
  });
  return shared;
}

/** Starts a service in this process, with the settings that the environment would give it. It ends
 *  with the tests of the file. */
export async function startTestService(
  env: Readonly<Record<string, string>> = {},
  chosen: Chosen = {},
): Promise<TestService> {
  const testService = await openTestService(
    { ...env, DATA_DIR: env.DATA_DIR ?? (await newFolder()) },
    chosen,
  );
  atFileEnd(testService.stop);
  return testService;
}

/** What settings cannot say. */
interface Chosen extends Pick<ServiceOptions, "outbound" | "mcpAddition"> {
  /** A market in place of the one that the settings name. */
  readonly market?: MarketChoice;
}

async function openTestService(
  env: Readonly<Record<string, string>> & { readonly DATA_DIR: string },
  chosen: Chosen = {},
): Promise<TestService> {
  const folder = env.DATA_DIR;
  const server = createServer();
  const base = await listen(server);
  const { market, ...options } = chosen;
  const settings = readConfig({ RATE_LIMITS: LOOSE_LIMITS, ...env });
  const config = market === undefined ? settings : { ...settings, market };
  const clock = { now: SANDBOX_NOW };
  const logged: string[] = [];
  const lent = isUsualSandbox(config) ? await borrowSandbox(SANDBOX_NOW) : undefined;
  const service = await createService({
    config,
    sandbox: lent?.sandbox,
    ...options,
    baseUrl: config.baseUrl ?? base,
    now: () => clock.now,
    log: pino({ level: "error" }, { write: (line) => logged.push(line) }),
  });
  server.on("request", service.app);

  const vault = createKeyringVault(service.state.keyring);
  async function emailsTo(email: string): Promise<readonly string[]> {
    const kept = await service.state.store.records.list(mails, { limit: 10_000 });
    const emails = kept.map((mail) => openedEmail(vault, mail));
    return emails.filter(({ to }) => to === email).map(({ text }) => text);
  }
  const codesTo = async (email: string) => (await emailsTo(email)).flatMap(codesIn);

  let people = 0;
  const person = (email = `person-${++people}@example.com`): Person =>
    createPerson({ base, email, codeOf: async () => (await codesTo(email)).at(-1) ?? "" });

  async function advanceTo(now: Date): Promise<void> {
    const before = service.market.knownUntil();
    clock.now = now;
    service.refresh();
    while (service.market.knownUntil() === before) await turn();
  }

  const stop = once(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await service.close();
    lent?.giveBack();
  });
  return { base, service, folder, clock, advanceTo, logged, person, emailsTo, codesTo, stop };
}

/** The sign-in codes in the text of an email. */
export function codesIn(email: string): readonly string[] {
  return Array.from(email.matchAll(/^Your code: (\d{8})$/gm), ([, code = ""]) => code);
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "market-signal-"));
  atFileEnd(() => rm(folder, { recursive: true }));
  return folder;
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= run();
    return done;
  };
}
