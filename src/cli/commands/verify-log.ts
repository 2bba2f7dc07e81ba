import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { currentVerdict } from "../../answers/track-record.ts";
import type { TrackRecordFigures } from "../../grading/track-record.ts";
import type { VerifiedClaim } from "../../log/verify/claim-check.ts";
import {
  type VerificationResult,
  verifyLog,
  verifyProofFile,
} from "../../log/verify/verify-log.ts";
import { parseWitnessPolicy } from "../../log/witness/policy.ts";
import { readMarketFolder } from "../../sources/files/market-folder.ts";
import { type CheckOutcome, overallOutcome, type VerificationCheck } from "../../tree/check.ts";
import { shownOrigin } from "../../tree/checkpoint.ts";
import { parseLogVerifier } from "../../tree/note-keys.ts";
import { defineLocalCommand } from "../command.ts";
import { createDownloadBudget, maxGigabytesOption } from "../download-budget.ts";
import { formatCount } from "../format.ts";
import { readKnownLogFile, writeKnownLogFile } from "../known-log-file.ts";
import { folderLogSource } from "../log-folder.ts";
import {
  httpLogSource,
  isHttpUrl,
  readDisclosedFactors,
  readTextFromUrl,
  readTrackRecord,
} from "../log-source.ts";
import type { ProgressLine } from "../progress-line.ts";
import { readTextFile } from "../text-file.ts";

/** Exit codes. "Not proved" is neither success nor failure, so it has its own code. */
const EXIT_CODES: Readonly<Record<CheckOutcome, number>> = { proved: 0, failed: 1, not_proved: 2 };

const WORDS: Readonly<Record<CheckOutcome, string>> = {
  proved: "proved",
  not_proved: "not proved",
  failed: "FAILED",
};

const isVerifier = (text: string): boolean => {
  try {
    return parseLogVerifier(text) !== undefined;
  } catch {
    return false;
  }
};

/** Command-line option for the token or API key with which the command reads from the service. */
export const tokenOption = {
  value: "<token>",
  isSecret: true,
  about: "token or API key with signals:read, or env:NAME; the sandbox needs none",
  schema: z.string().min(1, "is empty").optional(),
} as const;

/** Checks a signal log without trusting its operator. */
export const verifyLogCommand = defineLocalCommand({
  summary:
    "Checks a log of signals: at an address, in a downloaded folder, or one .tlog-proof file.",
  notes: [
    "Each check is proved, not proved or failed. The exit code is 0 when all are proved, 1 when one",
    "failed, and 2 otherwise. Files are checked offline. docs/verification.md explains each check.",
  ],
  operands: { log: z.string("is missing: name an address, a folder or a file").min(1, "is empty") },
  options: {
    key: {
      value: "<key>",
      about: "key of the log, known from elsewhere: <name>+<id>+<key>",
      schema: z.string().refine(isVerifier, "is not <name>+<id>+<key> of a log").optional(),
    },
    policy: {
      value: "<file>",
      about: "logs and witnesses that you trust (C2SP tlog-policy)",
      schema: z.string().min(1, "is empty").optional(),
    },
    state: {
      value: "<file>",
      about: "what was seen before; made at the first look, renewed at each",
      schema: z.string().min(1, "is empty").optional(),
    },
    prices: {
      value: "<folder>",
      about: "prices that outcomes are recomputed from, as for MARKET=files",
      schema: z.string().min(1, "is empty").optional(),
    },
    token: tokenOption,
    "max-gb": { ...maxGigabytesOption, about: `from a service: ${maxGigabytesOption.about}` },
  },

  async run(
    { log, key, policy: policyPath, state, prices, token, "max-gb": maxGigabytes },
    { folder, progress },
  ) {
    const statePath = state === undefined ? undefined : resolve(folder, state);
    const known = statePath === undefined ? undefined : await readKnownLogFile(statePath);
    const policy =
      policyPath === undefined
        ? undefined
        : parseWitnessPolicy(await textAt(resolve(folder, policyPath)), policyPath);
    const ofPolicy = (policy?.logs ?? []).map(({ key: text }) => text);
    const trust = { keys: [...(key === undefined ? [] : [key]), ...ofPolicy], known, policy };
    const path = resolve(folder, log);
    const isFile = !isHttpUrl(log) && (await isFileAt(path));
    const verified = isFile
      ? verifyProofFile(await textAt(path), trust)
      : await verifyLog({
          ...trust,
          ...(isHttpUrl(log)
            ? serviceAt(log, token, maxGigabytes)
            : { source: folderLogSource(path) }),
          prices:
            prices === undefined ? undefined : await readMarketFolder(resolve(folder, prices)),
          now: Date.now,
          onProgress: showProgressOn(progress),
        });
    if (statePath !== undefined && verified.known !== undefined) {
      await writeKnownLogFile(statePath, verified.known);
    }
    const { origin = null, size = null, checks, records = [], claims = [] } = verified;
    const outcome = overallOutcome(checks);
    return {
      isGood: outcome === "proved",
      exitCode: EXIT_CODES[outcome],
      lines: tableOf(verified),
      result: {
        outcome,
        origin,
        size,
        checks,
        record: records.map(({ methodHash, figures }) => ({ methodHash, ...figures })),
        claims,
      },
      notes: [],
    };
  },
});

/** Reads the log, track record and factors from a running service. */
const serviceAt = (address: string, token: string | undefined, maxGigabytes: number) => ({
  source: httpLogSource(address, token, createDownloadBudget(maxGigabytes).take),
  ask: readTextFromUrl,
  trackRecord: () => readTrackRecord(address, token),
  openFactors:
    token === undefined
      ? undefined
      : (index: number) => readDisclosedFactors(address, index, token),
});

/** Whether a log is a file rather than a folder. */
async function isFileAt(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() || found?.isDirectory()) return found.isFile();
  throw new Error(
    `${path} is no folder and no plain file; an address begins with https:// or http://.`,
  );
}

/** @throws {Error} If there is no text file. */
async function textAt(path: string): Promise<string> {
  const text = await readTextFile(path);
  if (text === undefined) throw new Error(`${path} does not exist.`);
  return text;
}

/** Creates a callback that shows how many of all entries have been read. */
export const showProgressOn =
  (progress: ProgressLine, doing = "verifying") =>
  (done: number, total: number): void =>
    progress.show({ doing, rows: done, fraction: total === 0 ? 1 : done / total, unit: "entries" });

function tableOf({
  origin,
  size,
  checks,
  records = [],
  claims = [],
}: VerificationResult): readonly string[] {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const line = ({ name, outcome, detail }: VerificationCheck) =>
    `${WORDS[outcome].padEnd(10)}  ${name.padEnd(width)}  ${detail}`;
  const head =
    origin === undefined ? [] : [`Log ${shownOrigin(origin)}, ${formatCount(size ?? 0)} entries`];
  const record = records.map(({ figures, methodHash }) => recordLine(figures, methodHash));
  return [...head, ...checks.map(line), ...record, ...claims.map(claimLine)];
}

/** Number of digits of a method hash that are shown. */
const SHOWN_DIGITS = 16;

/** A claim with its estimate and the verdict that stands. */
function claimLine(claim: VerifiedClaim): string {
  const { methodHash, terms, score } = claim;
  const estimate =
    score === null
      ? "no estimate yet"
      : `neutral rank IC ${score.value.toFixed(4)} (${score.low.toFixed(4)} to ${score.high.toFixed(4)}, t ${score.t.toFixed(2)}) over ${formatCount(score.dates)} runs`;
  return `claim of method ${methodHash.slice(0, SHOWN_DIGITS)} on ${terms.assetClass} over ${terms.horizon} sessions: ${estimate}, ${currentVerdict(claim)}`;
}

/** The main figures of a track record, in percent. */
function recordLine(
  { assetClass, horizon, runs, meanExcess, hitRate, ic }: TrackRecordFigures,
  methodHash: string,
): string {
  const percent = (value: number) => `${(100 * value).toFixed(2)} %`;
  const figures = [
    ...(meanExcess === null
      ? []
      : [
          `mean excess ${percent(meanExcess.value)} (${percent(meanExcess.low)} to ${percent(meanExcess.high)})`,
        ]),
    ...(hitRate === null ? [] : [`hit rate ${percent(hitRate)}`]),
    ...(ic === null ? [] : [`rank IC ${ic.value.toFixed(4)} (t ${ic.t.toFixed(2)})`]),
  ];
  const of = `${assetClass} over ${horizon} sessions, method ${methodHash.slice(0, SHOWN_DIGITS)}`;
  return [`${of}: ${formatCount(runs)} runs`, ...figures].join(", ");
}
