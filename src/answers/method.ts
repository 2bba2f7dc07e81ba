import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { z } from "zod";
import { FACTORS } from "../factors/reading.ts";
import { YIELDS } from "../factors/yields.ts";
import type { Analyzer } from "../ingest/sentiment-model.ts";
import { AssetClass } from "../market/instrument.ts";
import { Problem } from "../problem.ts";
import { METHOD } from "../score/method-constants.ts";
import type { PeerTables } from "../score/peers.ts";
import { METHOD_RELEASE } from "../score/snapshot.ts";
import type { ToolContext } from "../tool.ts";
import { Instant, isoInstant, isoInstantOrNull, Provenance } from "./common.ts";
import { riskParameters } from "./risk.ts";

/** The value at each of `normalisation.probabilities`, ascending. */
const Knots = z.array(z.number()).length(METHOD.normalisation.probabilities.length);

/** The analyzer of messages: scores with a trained model differ from those of the lexicon alone. */
export const AnalyzerAnswer = z
  .object({
    name: z.enum(["lexicon", "lexicon_and_model"]),
    modelSha256: z.string().nullable().describe("SHA-256 of the trained model's file; null: none."),
  })
  .describe(
    "How messages were analyzed: by the lexicon, or by the mean of lexicon and trained model.",
  );

/** The peer statistics of a class in one session. */
const TableContent = z.object({
  assetClass: AssetClass,
  epoch: Instant.nullable().describe("The close at which they were frozen; null before the first."),
  analyser: AnalyzerAnswer,
  momentum: z
    .object({ ram: Knots, res: Knots, hi52: Knots, combined: Knots })
    .partial()
    .describe("Tables of the sub-signals and of the mean of their z; absent in a group under 30."),
  valuation: z
    .object({
      yields: z
        .partialRecord(z.enum(YIELDS), z.record(z.string(), Knots))
        .describe('By yield and sector; "" is the whole class, for sectors without their own.'),
      combined: Knots.optional().describe("Table of the weighted mean of their z."),
    })
    .describe("Absent if the group is too small."),
  social: z
    .object({ mean: z.number(), sd: z.number() })
    .optional()
    .describe("Table of bullishness, for instruments with a short history."),
});

/** A table with its names. */
const Table = z.object({
  version: z.string().describe("<class>/<epoch>/<first 16 digits of sha256>."),
  sha256: z.string().describe("SHA-256 of the canonical JSON (RFC 8785) of content."),
  content: TableContent,
});

/** The method version in a URL (SemVer 2.0.0, not strict). */
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
    .describe("Version of a table that get_factors named; without it the newest of each class."),
});

/** Everything needed to recompute a score from an answer of get_factors. */
export const Method = z.object({
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
});

/** The method that the service scores with. */
export interface MethodInUse {
  readonly context: Pick<ToolContext, "market" | "analyser">;
  /** All tables that a retained snapshot was scored with, newest first. */
  readonly tables: readonly PeerTables[];
}

/**
 * One version of the method, or the release that it belongs to, with the requested tables.
 *
 * @throws {Problem} `not_found` if the version is not in use, `not_available_then` if the table is not
 *   retained.
 */
export function methodAnswer(
  version: string,
  { tables: wanted }: z.output<typeof MethodQuery>,
  { context, tables }: MethodInUse,
): z.input<typeof Method> {
  const { version: current, methodHash, ...parameters } = METHOD;
  if (version !== current && version !== METHOD_RELEASE) {
    throw new Problem("not_found", {
      detail: `Method ${JSON.stringify(version)} is not in use.`,
      next: `Ask for ${current}.`,
    });
  }
  const { market, analyser } = context;
  const chosen =
    wanted === undefined ? newestOfEach(tables) : [named(tables, { wanted, analyser })];
  return {
    version: current,
    methodHash,
    market: market.mode,
    sources: [market.source],
    factors: [...FACTORS],
    parameters: {
      ...parameters,
      social: { ...parameters.social, analyser },
      risk: riskParameters(market),
    },
    tables: chosen.map((table) => tableAnswer(table, analyser)),
  };
}

const newestOfEach = (tables: readonly PeerTables[]): readonly PeerTables[] =>
  AssetClass.options.flatMap(
    (assetClass) => tables.find((table) => table.assetClass === assetClass) ?? [],
  );

/** Only the tables of the requested class and epoch are hashed. */
function named(
  tables: readonly PeerTables[],
  { wanted, analyser }: { readonly wanted: string; readonly analyser: Analyzer },
): PeerTables {
  const table = tables.find(
    (one) => wanted.startsWith(epochName(one)) && tableVersion(one, analyser).version === wanted,
  );
  if (table !== undefined) return table;
  throw new Problem("not_available_then", {
    detail: `The table ${JSON.stringify(wanted)} is not stored.`,
    next: "Tables are stored as long as the factors that name them; omit tables for the newest.",
  });
}

/** Published names of a table. */
interface TableName {
  readonly version: string;
  readonly sha256: string;
}

/** Caches names, since thousands of answers share a table; each table belongs to one analyzer. */
const names = new WeakMap<PeerTables, TableName>();

/** The version and hash under which a table is published. */
export function tableVersion(tables: PeerTables, analyser: Analyzer): TableName {
  const known = names.get(tables);
  if (known !== undefined) return known;
  const text = canonicalize(contentOf(tables, analyser)) as string;
  const sha256 = createHash("sha256").update(text).digest("hex");
  const name = { version: `${epochName(tables)}${sha256.slice(0, 16)}`, sha256 };
  names.set(tables, name);
  return name;
}

/** Prefix of a table's version. */
const epochName = ({ assetClass, epoch }: PeerTables): string =>
  `${assetClass}/${epoch === null ? "none" : isoInstant(epoch)}/`;

const tableAnswer = (tables: PeerTables, analyser: Analyzer): z.input<typeof Table> => ({
  ...tableVersion(tables, analyser),
  content: contentOf(tables, analyser),
});

function contentOf(
  { assetClass, epoch, momentum, valuation, social }: PeerTables,
  analyser: Analyzer,
): z.input<typeof TableContent> {
  const knots = ([name, { values }]: readonly [string, { readonly values: readonly number[] }]) =>
    [name, [...values]] as const;
  const yields = Object.entries(valuation.yields).map(
    ([name, bySector]) => [name, Object.fromEntries([...bySector].map(knots))] as const,
  );
  return {
    assetClass,
    epoch: isoInstantOrNull(epoch),
    analyser,
    momentum: Object.fromEntries(Object.entries(momentum).map(knots)),
    valuation: {
      yields: Object.fromEntries(yields),
      ...(valuation.combined && { combined: [...valuation.combined.values] }),
    },
    ...(social && { social }),
  };
}
