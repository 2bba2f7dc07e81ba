import { mkdtempSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import pino from "pino";
import { onTestFinished, TestRunner } from "vitest";
import { readConfig } from "../../src/config/config.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import type { Email } from "../../src/mail/email-schema.ts";
import { decryptEmail, queuedMails } from "../../src/mail/outbox.ts";
import { createService, type Service, type ServiceOptions } from "../../src/service.ts";
import type { MarketSettings } from "../../src/sources/open-market.ts";
import { atFileEnd } from "./file-end.ts";
import { limitsSetting, looseNumbers } from "./limits.ts";
import { listenLocally } from "./local-server.ts";
import { createPerson, type Person } from "./person.ts";
import { temporaryFolder } from "./process.ts";
import { acquireSandbox, usesPooledSandbox } from "./sandbox-pool.ts";

/**
 * Start of a test service's clock: an instant between two sessions of the sandbox, so that every
 * run sees the same market.
 */
export const SANDBOX_NOW = new Date("2026-11-21T05:00:30.000Z");

/** Value of `RATE_LIMITS` with limits that only tests of limits reach. */
export const LOOSE_LIMITS = limitsSetting(looseNumbers);

/** The whole service in the test's process, on its own socket, with people who use it. */
export interface TestService {
  /** Base URL of the service. */
  readonly base: string;
  readonly service: Service;
  /** `DATA_DIR` of the service. */
  readonly folder: string;
  /** Clock of the service, which the test moves. */
  readonly clock: { now: Date };
  /** Moves the clock to a later session; resolves once that session is scored. */
  advanceTo(now: Date): Promise<void>;
  /** Logged errors, oldest first. */
  readonly logged: readonly string[];
  /** Creates a person with a new browser; by default with a new email address. */
  person(email?: string): Person;
  /** All queued emails, oldest first. */
  mails(): Promise<readonly Email[]>;
  /** Texts of the queued emails to an address, oldest first. */
  emailsTo(email: string): Promise<readonly string[]>;
  /** Sign-in codes in the queued emails to an address, oldest first. */
  codesTo(email: string): Promise<readonly string[]>;
  /** Whether the service's sandbox returns to the pool when the service stops. */
  readonly isPooled: boolean;
  /** Stops the service now. */
  stop(): Promise<void>;
}

let shared: Promise<TestService> | undefined;

/**
 * The shared service with default settings for all test files of a worker. A test may use it if it
 * does not move the clock, stop anything, change a limit, or count things that other tests also
 * create. Starting a service costs more than a second of CPU time, mainly for scoring the sandbox.
 */
export function sharedTestService(): Promise<TestService> {
  shared ??= openTestService({
    DATA_DIR: mkdtempSync(join(tmpdir(), "shared-")),
  });
  return shared;
}

/**
 * Starts a service in this process with the settings of an environment. It stops after the last
 * test of the file, or, if a test starts it with the default sandbox, already after that test.
 */
export async function startTestService(
  env: Readonly<Record<string, string>> = {},
  options: TestServiceOptions = {},
): Promise<TestService> {
  const testService = await openTestService(
    { ...env, DATA_DIR: env.DATA_DIR ?? temporaryFolder() },
    options,
  );
  // Stopping early lets the next test use the same scored sandbox.
  if (testService.isPooled && TestRunner.getCurrentTest()) onTestFinished(testService.stop);
  else atFileEnd(testService.stop);
  return testService;
}

/** Options for which there is no environment variable. */
interface TestServiceOptions extends Pick<ServiceOptions, "outbound" | "mcpAddition"> {
  /** Start of the clock; absent: `SANDBOX_NOW`. */
  readonly start?: Date;
  /** Replaces the market of the settings. */
  readonly market?: MarketSettings;
}

async function openTestService(
  env: Readonly<Record<string, string>> & { readonly DATA_DIR: string },
  { market, start = SANDBOX_NOW, ...options }: TestServiceOptions = {},
): Promise<TestService> {
  const folder = env.DATA_DIR;
  // Client and server share a process that can be busy for seconds: without this the server could
  // close a connection just as the client reuses it.
  const server = createServer({ keepAliveTimeout: 0 });
  const base = await listen(server);
  const settings = readConfig({ RATE_LIMITS: LOOSE_LIMITS, ...env });
  const config = market === undefined ? settings : { ...settings, market };
  const clock = { now: start };
  const logged: string[] = [];
  const isDefault = usesPooledSandbox(config) && start === SANDBOX_NOW;
  const pooled = isDefault ? await acquireSandbox(SANDBOX_NOW) : undefined;
  const service = await createService({
    config,
    sandbox: pooled?.sandbox,
    ...options,
    baseUrl: config.baseUrl ?? base,
    now: () => clock.now,
    log: pino({ level: "error" }, { write: (line) => logged.push(line) }),
  });
  server.on("request", service.app);

  const vault = createKeyringVault(service.state.keyring);
  async function mails(): Promise<readonly Email[]> {
    const queued = await service.state.store.records.list(queuedMails, { limit: 10_000 });
    return queued.map((mail) => decryptEmail(vault, mail));
  }
  const emailsTo = async (email: string) =>
    (await mails()).filter(({ to }) => to === email).map(({ text }) => text);
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
    pooled?.release();
  });
  const isPooled = pooled !== undefined;
  return {
    base,
    service,
    folder,
    clock,
    advanceTo,
    logged,
    person,
    mails,
    emailsTo,
    codesTo,
    isPooled,
    stop,
  };
}

/** Sign-in codes in the text of an email. */
export function codesIn(email: string): readonly string[] {
  return Array.from(email.matchAll(/^ *Your code: (\d{8})$/gm), ([, code = ""]) => code);
}

async function listen(server: Server): Promise<string> {
  const origin = await listenLocally(server);
  return origin;
}

function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= run();
    return done;
  };
}
