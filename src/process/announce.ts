/** Messages for a person at the terminal, on standard error; programs read standard output. */

import { statfsSync, statSync } from "node:fs";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { IngestSetup } from "../ingest/setup.ts";
import { type Email, emailLines } from "../mail/email-schema.ts";
import { terminalJson, terminalLine } from "../outbound/terminal-text.ts";
import { SERVICE_NAME, type Service } from "../service.ts";
import type { MarketSettings } from "../sources/open-market.ts";

/** Clears a terminal line: moves to its start (CR) and erases to its end (ECMA-48 EL). */
const ERASE_LINE = "\r\u001b[K";

/** Permission bits of the group and of other users. */
const GROUP_AND_OTHERS = 0o077;

/** Prints a line to standard error. */
const say = (line: string): void => void process.stderr.write(`${terminalLine(line)}\n`);

/**
 * Writes one JSON line for programs to standard output, and a summary for people to standard error.
 */
export function announceReady(service: Service, config: Config, baseUrl: string): void {
  const { market, following } = service;
  const instruments = market.instruments().length;
  const asOf = new Date(market.knownUntil()).toISOString();
  const { simulated } = market.source;
  const replay = replayOf(config.market);
  const ready = {
    event: "ready",
    baseUrl,
    market: market.mode,
    simulated,
    asOf,
    instruments,
    ...(following && { followed: following.instruments }),
    ...(replay && { replay }),
  };
  process.stdout.write(`${terminalJson(ready)}\n`);
  const lines = [
    `${SERVICE_NAME} serves ${instruments} ${simulated ? "simulated " : ""}instruments as of ${asOf}.`,
    ...(replay ? [`  Replay  to ${replay.to}, ${replay.daysPerSecond} days a second`] : []),
    ...liveMarketLines(following, config.anonymousScopes).map((line) => `  ${line}`),
    `  Home    ${baseUrl}/`,
    `  API     ${baseUrl}/docs/api`,
    `  MCP     ${baseUrl}/mcp`,
    `  REST    ${baseUrl}/api/signals`,
    `  Health  ${baseUrl}/api/health`,
    `  Account ${service.accountLink}`,
    `  Data    ${config.store.folder}`,
    "  Setup   npx --no-install market-signal admin setup",
    "  Stop with Ctrl-C.",
  ];
  for (const line of lines) say(line);
}

/** The period and speed of the replay; `undefined` for any other market. */
function replayOf(choice: MarketSettings) {
  if (choice.kind !== "replay") return undefined;
  const { from, to, daysPerSecond } = choice;
  const iso = (at: number) => new Date(at).toISOString();
  return { from: iso(from), to: iso(to), daysPerSecond };
}

/**
 * The lines of the summary about a live market.
 * @param setup Absent if the market is not live.
 */
export function liveMarketLines(
  setup: IngestSetup | undefined,
  anonymousScopes: readonly string[],
): readonly string[] {
  if (setup === undefined) return [];
  const { instruments, unpriced, providers } = setup;
  const used = providers.filter(({ feeds }) => feeds.length > 0);
  const personal = used.filter(({ isForOwnUse }) => isForOwnUse);
  const needs = providers
    .filter(({ missing }) => missing.length > 0)
    .map(({ id, missing }) => `${id} needs ${missing.join(", ")}`);
  const by =
    used.length === 0 ? "no provider" : `${counted(used.length, "provider")}: ${idsOf(used)}`;
  return [
    `Follows ${counted(instruments, "instrument")} by ${by}.`,
    unpriced > 0 && `No provider has prices for ${unpriced}, so they get no score.`,
    needs.length > 0 && `Not configured: ${needs.join("; ")}.`,
    anonymousScopes.length === 0 && "Unclaimed agents get no access; ANONYMOUS_SCOPES allows more.",
    personal.length > 0 &&
      `The terms of ${idsOf(personal)} allow their data for your own use only.`,
    "market-signal doctor shows the state of each provider.",
  ].filter((line) => typeof line === "string");
}

const idsOf = (providers: IngestSetup["providers"]): string =>
  providers.map(({ id }) => id).join(", ");

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

/**
 * Warns when other users of this machine can open the folder that contains keys and personal data.
 */
export function warnIfFolderIsAccessible(folder: string): void {
  const mode = statSync(folder, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has no permission bits for the group and others: Node.js derives all bits from the
  // permissions of the owner.
  if (process.platform === "win32" || (mode & GROUP_AND_OTHERS) === 0) return;
  const shown = (mode & 0o777).toString(8);
  say(
    `Other users of this machine can open ${folder} (mode ${shown}), which holds keys and personal data: chmod 700 ${folder}`,
  );
}

/** Free space below which the operator is warned, in bytes: the size of the write-ahead log. */
const SCARCE_BYTES = 16 * 2 ** 20;

/** Warns when the disk of the data folder is full or nearly so. */
export function warnIfDiskIsFull(folder: string): void {
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  if (freeBytes >= SCARCE_BYTES) return;
  say(
    `The disk of ${folder} has ${Math.floor(freeBytes / 1_000)} kB left: writes are refused while it is full. Free space there.`,
  );
}

/**
 * Shows how much of the market has been read: on a terminal in one line that is updated; elsewhere,
 * only when the whole market has been read.
 */
export function showMarketProgress(unit: string): (done: number, total: number) => void {
  return (done, total) => {
    const isDone = done === total;
    if (!isDone && !process.stderr.isTTY) return;
    const start = process.stderr.isTTY ? "\r" : "";
    const end = isDone ? "; now scoring\n" : "";
    process.stderr.write(`${start}Reading the market: ${done} of ${total} ${unit}${end}`);
  };
}

/** Shows the operator an email that cannot be sent because there is no mail server; the operator
 *  passes it on. */
export function showEmail(email: Email): void {
  const lines = emailLines(email).map((line) => `  ${line}`);
  for (const line of ["", "There is no mail server for this message:", ...lines, ""]) say(line);
}

/** Shows the progress of a replay in one terminal line that is updated. */
export function showReplay({ market }: Service): void {
  if (market.mode !== "replay" || !process.stderr.isTTY) return;
  const at = new Date(market.knownUntil()).toISOString();
  process.stderr.write(`${ERASE_LINE}Replay: ${at.slice(0, 16)} UTC`);
}

/** Clears the progress line of the replay, and logs the end of the replay. */
export function logReplayEnd({ market }: Service, log: Logger): void {
  if (market.mode !== "replay") return;
  if (process.stderr.isTTY) process.stderr.write(ERASE_LINE);
  const asOf = new Date(market.knownUntil()).toISOString();
  log.info({ asOf }, "the replay has ended; market time no longer advances");
}
