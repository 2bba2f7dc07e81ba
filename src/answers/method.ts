import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { z } from "zod";
import { FACTORS } from "../factors/reading.ts";
import { YIELDS } from "../factors/yields.ts";
import { AssetClass } from "../market/instrument.ts";
import { Problem } from "../problem.ts";
import { METHOD } from "../score/method.ts";
import type { PeerTables } from "../score/peers.ts";
import { Instant, isoInstant, isoInstantOrNull } from "./common.ts";

/** The value at each of `normalisation.probabilities`, ascending. */
const Knots = z.array(z.number()).length(METHOD.normalisation.probabilities.length);

/** What the instruments of a class were compared with in one session. */
const TableContent = z.object({
  assetClass: AssetClass,
  epoch: Instant.nullable().describe("The close at which they were frozen; null before the first."),
  momentum: z
    .object({ ram: Knots, res: Knots, hi52: Knots, combined: Knots })
    .partial()
    .describe("Of the sub-signals, and of the mean of their z; absent in a group under 30."),
  valuation: z
    .object({
      yields: z
        .partialRecord(z.enum(YIELDS), z.record(z.string(), Knots))
        .describe('By yield and sector; "" is the whole class, for sectors without their own.'),
      combined: Knots.optional().describe("Of the weighted mean of their z."),
    })
    .describe("Absent where the group is too small."),
  social: z
    .object({ mean: z.number(), sd: z.number() })
    .optional()
    .describe("Of bullishness, for instruments with a short history."),
});

/** A table with its names. */
const Table = z.object({
  version: z.string().describe("<class>/<epoch>/<first 16 digits of sha256>."),
  sha256: z.string().describe("Of the canonical JSON (RFC 8785) of content."),
  content: TableContent,
});

/** What `GET /api/method/{version}` is asked. */
export const MethodQuery = z.strictObject({
  tables: z
    .string()
    .max(100)
    .optional()
    .describe("Version of a table that get_factors named; without it the newest of each class."),
});

/** Everything that a score can be worked out with, besides an answer of get_factors. */
export const Method = z.object({
  version: z.string(),
  factors: z.array(z.enum(FACTORS)),
  parameters: z.record(z.string(), z.unknown()).describe("Weights, thresholds, half-lives, ..."),
  tables: z.array(Table),
});

/**
 * One version of the method with the tables asked for.
 *
 * @param tables Those of the kept snapshots, newest first.
 * @throws {Problem} `not_found` when the version is not in use, `not_available_then` when the table
 *   is not kept.
 */
export function methodAnswer(
  version: string,
  { tables: wanted }: z.output<typeof MethodQuery>,
  tables: readonly PeerTables[],
): z.input<typeof Method> {
  const { version: current, ...parameters } = METHOD;
  if (version !== current) {
    throw new Problem("not_found", {
      detail: `Method ${JSON.stringify(version)} is not in use.`,
      next: `Ask for ${current}.`,
    });
  }
  const chosen = wanted === undefined ? newestOfEach(tables) : named(tables, wanted);
  return { version, factors: [...FACTORS], parameters, tables: chosen.map(tableAnswer) };
}

const newestOfEach = (tables: readonly PeerTables[]): readonly PeerTables[] =>
  AssetClass.options.flatMap(
    (assetClass) => tables.find((table) => table.assetClass === assetClass) ?? [],
  );

function named(tables: readonly PeerTables[], version: string): readonly PeerTables[] {
  const table = tables.find((one) => tableVersion(one).version === version);
  if (table !== undefined) return [table];
  throw new Problem("not_available_then", {
    detail: `The table ${JSON.stringify(version)} is not kept.`,
    next: "Tables are kept as long as the factors that name them; leave tables out for the newest.",
  });
}

/** The names of a table. */
interface TableName {
  readonly version: string;
  readonly sha256: string;
}

/** Tables are shared by thousands of answers and hashed once. */
const names = new WeakMap<PeerTables, TableName>();

/** The version and hash under which a table is published. */
export function tableVersion(tables: PeerTables): TableName {
  const known = names.get(tables);
  if (known !== undefined) return known;
  const text = canonicalize(contentOf(tables)) as string;
  const sha256 = createHash("sha256").update(text).digest("hex");
  const epoch = tables.epoch === null ? "none" : isoInstant(tables.epoch);
  const name = { version: `${tables.assetClass}/${epoch}/${sha256.slice(0, 16)}`, sha256 };
  names.set(tables, name);
  return name;
}

const tableAnswer = (tables: PeerTables): z.input<typeof Table> => ({
  ...tableVersion(tables),
  content: contentOf(tables),
});

function contentOf({
  assetClass,
  epoch,
  momentum,
  valuation,
  social,
}: PeerTables): z.input<typeof TableContent> {
  const knots = ([name, { values }]: readonly [string, { readonly values: readonly number[] }]) =>
    [name, [...values]] as const;
  const yields = Object.entries(valuation.yields).map(
    ([name, bySector]) => [name, Object.fromEntries([...bySector].map(knots))] as const,
  );
  return {
    assetClass,
    epoch: isoInstantOrNull(epoch),
    momentum: Object.fromEntries(Object.entries(momentum).map(knots)),
    valuation: {
      yields: Object.fromEntries(yields),
      ...(valuation.combined && { combined: [...valuation.combined.values] }),
    },
    ...(social && { social }),
  };
}
