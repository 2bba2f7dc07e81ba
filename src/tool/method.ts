import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { z } from "zod";
import { riskParameters } from "../answers/risk.ts";
import {
  InstantAnswer,
  isoInstant,
  isoInstantOrNull,
  Provenance,
} from "../answers/shared-members.ts";
import { FACTORS } from "../factors/reading.ts";
import { Problem } from "../lib/problem.ts";
import { AssetClass } from "../market/instrument.ts";
import { runningMethod } from "../method/running.ts";
import {
  byStage,
  type CloseTables,
  type GroupMeans,
  REFERENCE_QUANTILES,
  REFERENCE_TABLES,
  RELATIVE_MEASURES,
  STAGES,
} from "../score/close-tables.ts";
import { METHOD_CONSTANTS } from "../score/method-constants.ts";
import type { PeerTables } from "../score/peers.ts";
import { METHOD_RELEASE } from "../score/snapshot.ts";
import type { ToolContext } from "./tool.ts";

/** The quantile at each of `normalisation.probabilities`, ascending. */
const Knots = z.array(z.number()).length(METHOD_CONSTANTS.normalisation.probabilities.length);

/** The analyzer of messages, which is part of the content of every peer table. */
export const ANALYZER = { name: "lexicon", modelSha256: null } as const;

export const AnalyzerAnswer = z
  .object({
    name: z.literal(ANALYZER.name),
    modelSha256: z.null().describe("No model is trained."),
  })
  .describe("How messages were analyzed: by the lexicon.");

const GroupMeanAnswer = z.object({ mean: z.number(), count: z.int() });

/** The peer statistics of an asset class in one session. */
const TableContent = z.object({
  assetClass: AssetClass,
  epoch: InstantAnswer.nullable().describe(
    "The close at which they were frozen, of stocks that of stocks.close; null before the first.",
  ),
  analyser: AnalyzerAnswer,
  momentum: z
    .object({ ram: Knots, res: Knots, hi52: Knots, combined: Knots })
    .partial()
    .describe(
      "Of funds and coins: tables of the sub-signals and of the mean of their z; absent in a group under 30.",
    ),
  stocks: z
    .object({
      close: InstantAnswer.describe("The session whose stocks these are."),
      sorted: z
        .record(z.enum(STAGES), z.array(z.number()))
        .describe(
          "The exact values of each stage, ascending: the measurements, the evidence Z (composite), its exponential mean, and the inputs of steadiness with their risk. A stage of fewer than 30 is ranked in parameters.stocks.reference.",
        ),
      means: z
        .record(z.enum(RELATIVE_MEASURES), z.record(z.string(), GroupMeanAnswer))
        .describe('Mean and number of stocks by sector; "" is all stocks.'),
    })
    .optional()
    .describe("The stocks of the close, with which every score is recomputed; of stocks only."),
  coins: z
    .object({ close: InstantAnswer, variances: z.array(z.number()) })
    .optional()
    .describe("Of coins: the exact variances of the close, ascending, that rank steadiness."),
  social: z
    .object({ mean: z.number(), sd: z.number() })
    .optional()
    .describe("Table of bullishness, for instruments with a short history."),
});

/** A peer table with its version and hash. */
const Table = z.object({
  version: z.string().describe("<class>/<epoch>/<first 16 digits of sha256>."),
  sha256: z.string().describe("SHA-256 of the canonical JSON (RFC 8785) of content."),
  content: TableContent,
});

/**
 * The method version in a URL: three numbers with an optional suffix, a looser pattern than SemVer
 * 2.0.0.
 */
export const MethodVersion = z
  .string()
  .max(40)
  .regex(/^\d+\.\d+\.\d+[0-9A-Za-z.+-]*$/, "Expected a version such as 1.0.0.");

/** Parameters of `GET /api/method/{version}`. */
export const MethodQuery = z.strictObject({
  tables: z
    .string()
    .max(100)
    .optional()
    .describe("A tableVersion of get_factors, or reference; else the newest of each class."),
});

/**
 * Everything that is needed to recompute the score in an answer of get_factors, besides that
 * answer.
 */
export const MethodDocument = z.object({
  version: z.string(),
  methodHash: z
    .string()
    .describe("SHA-256 of the constants and of the method's results on a fixture of the project."),
  market: Provenance.shape.market,
  sources: Provenance.shape.sources,
  factors: z.array(z.enum(FACTORS)),
  parameters: z
    .record(z.string(), z.unknown())
    .describe(
      "Weights, thresholds, half-lives, ...; social.analyser names the analysis of messages.",
    ),
  tables: z.array(Table),
  reference: z
    .object({
      sha256: z.string().describe("SHA-256 of the canonical JSON (RFC 8785) of quantiles."),
      origin: z.string(),
      quantiles: z.record(z.enum(STAGES), z.array(z.number())),
    })
    .optional()
    .describe(
      "With tables=reference: the tables of small markets, quantiles at (i + .5)/1001, linear between them.",
    ),
});

/** The method that the service uses, with the context to render it. */
interface MethodInUse {
  readonly context: Pick<ToolContext, "market">;
  /** The tables of all retained snapshots, newest first. */
  readonly tables: readonly PeerTables[];
}

/**
 * Renders the method with the requested peer tables.
 *
 * @param version A full method version, or only its release.
 * @throws {Problem} `not_found` if the version is not in use, `not_available_then` if the table is
 * not retained.
 */
export function methodAnswer(
  version: string,
  { tables: wanted }: z.output<typeof MethodQuery>,
  { context, tables }: MethodInUse,
): z.input<typeof MethodDocument> {
  const { version: current, methodHash } = runningMethod();
  if (version !== current && version !== METHOD_RELEASE) {
    throw new Problem("not_found", {
      detail: `Method ${JSON.stringify(version)} is not in use.`,
      next: `Ask for ${current}.`,
    });
  }
  const { market } = context;
  const isReference = wanted === "reference";
  const chosen =
    wanted === undefined || isReference
      ? newestOfEach(isReference ? [] : tables)
      : [named(tables, wanted)];
  return {
    version: current,
    methodHash,
    market: market.mode,
    sources: [market.source],
    factors: [...FACTORS],
    parameters: {
      ...METHOD_CONSTANTS,
      social: { ...METHOD_CONSTANTS.social, analyser: ANALYZER },
      risk: riskParameters(market),
    },
    tables: chosen.map(tableAnswer),
    ...(isReference && { reference: referenceAnswer }),
  };
}

const { sha256, origin } = REFERENCE_TABLES;
const referenceAnswer = {
  sha256,
  origin,
  quantiles: byStage((stage) => [...REFERENCE_QUANTILES[stage]]),
};

const newestOfEach = (tables: readonly PeerTables[]): readonly PeerTables[] =>
  AssetClass.options.flatMap(
    (assetClass) => tables.find((table) => table.assetClass === assetClass) ?? [],
  );

/**
 * Finds the peer table with the requested version. To save work, only tables of the requested class
 * and epoch are hashed.
 */
function named(tables: readonly PeerTables[], wanted: string): PeerTables {
  const table = tables.find(
    (one) => wanted.startsWith(epochName(one)) && peerTableVersion(one).version === wanted,
  );
  if (table !== undefined) return table;
  throw new Problem("not_available_then", {
    detail: `The table ${JSON.stringify(wanted)} is not stored.`,
    next: "Tables are stored as long as the factors that name them; omit tables for the newest.",
  });
}

/** Version and hash under which a table is published. */
interface PeerTableVersion {
  readonly version: string;
  readonly sha256: string;
}

/** Caches the version of each table, since thousands of answers share a table. */
const names = new WeakMap<PeerTables, PeerTableVersion>();

/** The version, and the hash, under which a table is published. */
export function peerTableVersion(tables: PeerTables): PeerTableVersion {
  const known = names.get(tables);
  if (known !== undefined) return known;
  const text = canonicalize(contentOf(tables)) as string;
  const sha256 = createHash("sha256").update(text).digest("hex");
  const name = { version: `${epochName(tables)}${sha256.slice(0, 16)}`, sha256 };
  names.set(tables, name);
  return name;
}

/** Prefix of a table's version: class and epoch. */
const epochName = ({ assetClass, epoch }: PeerTables): string =>
  `${assetClass}/${epoch === null ? "none" : isoInstant(epoch)}/`;

const tableAnswer = (tables: PeerTables): z.input<typeof Table> => ({
  ...peerTableVersion(tables),
  content: contentOf(tables),
});

function contentOf({
  assetClass,
  epoch,
  momentum,
  stocks,
  coins,
  social,
}: PeerTables): z.input<typeof TableContent> {
  return {
    assetClass,
    epoch: isoInstantOrNull(epoch),
    analyser: ANALYZER,
    momentum: Object.fromEntries(
      Object.entries(momentum).map(([name, { values }]) => [name, [...values]]),
    ),
    ...(stocks && { stocks: stockTables(stocks) }),
    ...(coins && { coins: { close: isoInstant(coins.at), variances: [...coins.variances] } }),
    ...(social && { social }),
  };
}

const stockTables = ({ at, sorted, means }: CloseTables) => ({
  close: isoInstant(at),
  sorted: byStage((stage) => [...sorted[stage]]),
  means: {
    residualMomentum: meansAnswer(means.residualMomentum),
    monthReturn: meansAnswer(means.monthReturn),
  },
});

const meansAnswer = ({ all, bySector }: GroupMeans) => ({
  "": all,
  ...Object.fromEntries(bySector),
});
