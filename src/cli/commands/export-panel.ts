import { rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import {
  closingInstantRange,
  type PanelSession,
  panelColumns,
  panelRows,
} from "../../answers/export-table.ts";
import { AssetClass } from "../../market/instrument.ts";
import { walkPanel } from "../../research/panel-walk.ts";
import { openMarket } from "../../sources/open-market.ts";
import { rowBatches, tableOf } from "../../tables/table.ts";
import { defineLocalCommand } from "../command.ts";
import { UsageError } from "../command-line.ts";
import { createDownloadBudget, maxGigabytesOption } from "../download-budget.ts";
import { formatCount } from "../format.ts";
import { isHttpUrl } from "../log-source.ts";
import { downloadPanel } from "../panel-download.ts";
import type { ProgressLine } from "../progress-line.ts";
import {
  readCsvTable,
  TABLE_FILE_FORMATS,
  type TableFileFormat,
  writeTableFile,
} from "../table-file.ts";
import { tokenOption } from "./verify-log.ts";

const IsoDate = z.iso.date("is not a date such as 2014-12-31");

/** The sessions to export and the target file. */
interface PanelExport {
  readonly file: string;
  readonly format: TableFileFormat;
  readonly assetClass: AssetClass;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly progress: ProgressLine;
}

/** Writes the panel of scores, factors and prices of an asset class to a file. */
export const exportPanelCommand = defineLocalCommand({
  summary: "Writes scores, factors and prices of every session of a class into a file.",
  notes: [
    "From a service, or from a market folder, which is scored by the service's own engine. An export",
    "from a service that was interrupted goes on where it ended. docs/tables.md has the columns.",
  ],
  operands: { file: z.string("is missing: name a file") },
  options: {
    market: {
      value: "<folder>",
      about: "a market folder, as MARKET=files:<folder> has it",
      schema: z.string().min(1, "is empty").optional(),
    },
    url: {
      value: "<address>",
      about: "instead: a service, such as https://a.example",
      schema: z
        .string()
        .refine(isHttpUrl, "is not an address such as https://a.example")
        .optional(),
    },
    token: { ...tokenOption, about: "for a service: token or API key, or env:NAME" },
    "max-gb": { ...maxGigabytesOption, about: `from a service: ${maxGigabytesOption.about}` },
    class: {
      value: "<name>",
      about: `${AssetClass.options.join(", ")} (stock)`,
      schema: z
        .enum(AssetClass.options, `is none of ${AssetClass.options.join(", ")}`)
        .default("stock"),
    },
    from: { value: "<date>", about: "first date (the first there is)", schema: IsoDate.optional() },
    to: { value: "<date>", about: "last date (the last there is)", schema: IsoDate.optional() },
    format: {
      value: "<name>",
      about: "csv or parquet (by the ending of the file, else csv)",
      schema: z.enum(TABLE_FILE_FORMATS, `is none of ${TABLE_FILE_FORMATS.join(", ")}`).optional(),
    },
  },
  rules: [
    {
      holds: ({ from = "", to = "9999" }) => from <= to,
      option: "from",
      error: "is after --to",
    },
  ],

  async run({ market, url, class: assetClass, ...rest }, { folder, progress }) {
    const format = rest.format ?? (rest.file.endsWith(".parquet") ? "parquet" : "csv");
    const wanted: PanelExport = { ...rest, format, assetClass, progress };
    if ((market === undefined) === (url === undefined)) {
      throw new UsageError("Name either --market or --url.");
    }
    const rows =
      url === undefined
        ? await exportFolder(resolve(folder, market ?? ""), wanted)
        : await exportAddress(url, rest, wanted);
    return {
      isGood: true,
      lines: [`${rest.file}: ${formatCount(rows)} rows.`],
      result: { file: rest.file, format, assetClass, rows },
      notes: [],
    };
  },
});

/**
 * Scores a market folder and writes the rows as they are computed. An interrupted run cannot be
 * continued, since replaying to the point of interruption would take as long as a new run.
 */
async function exportFolder(folder: string, wanted: PanelExport): Promise<number> {
  const { assetClass, progress } = wanted;
  progress.say("reading the market folder");
  const { from = EARLIEST, to } = closingInstantRange(wanted);
  const asOf = to === undefined ? undefined : new Date(to);
  const { market, clock } = await openMarket({ kind: "files", folder, asOf }, {});
  const range = { from: Date.parse(from), to: clock.now(Date.now()) };
  const columns = panelColumns({ dayMs: market.dayMs, hasFactors: true });
  const sessions = shownOn(progress, walkPanel({ market, assetClass, ...range }), range.to);
  const bars = new Map(
    market.recordsUntil(range.to).map(({ instrument, bars }) => [instrument.symbol, bars] as const),
  );
  const source = {
    sessionAt: market.sessionAt,
    barsOf: (symbol: string) => bars.get(symbol) ?? [],
  };
  const { rows } = tableOf(columns, panelRows(sessions, source));
  return writeTableFile({ ...wanted, columns, parts: rowBatches(rows, ROWS_PER_PART) });
}

/** Lower bound of an unlimited period, before all records. */
const EARLIEST = "1970-01-01T00:00:00.000Z";

/**
 * Passes sessions through, and shows the progress.
 * @param to End of the exported period, Unix milliseconds.
 */
function* shownOn(
  progress: ProgressLine,
  sessions: Iterable<PanelSession>,
  to: number,
): Generator<PanelSession, void> {
  let rows = 0;
  let from: number | undefined;
  for (const session of sessions) {
    yield session;
    from ??= session.at;
    rows += session.snapshots.length;
    const doing = new Date(session.at).toISOString().slice(0, "2020-01-31".length);
    progress.show({ doing, rows, fraction: (session.at - from) / (to - from) });
  }
}

/** Number of rows written at once. */
const ROWS_PER_PART = 5_000;

/**
 * Downloads all pages as CSV, whatever the target format, because a CSV file can be continued after
 * an interruption.
 */
async function exportAddress(
  address: string,
  {
    token,
    "max-gb": maxGigabytes,
  }: { readonly token?: string | undefined; readonly "max-gb": number },
  { file, format, assetClass, from, to, progress }: PanelExport,
): Promise<number> {
  progress.say("asking the service");
  const url = new URL("/api/export", address);
  const query = { assetClass, from, to };
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  const pages = `${file}.pages`;
  const rows = await downloadPanel({
    url,
    token,
    file: pages,
    onBytes: createDownloadBudget(maxGigabytes).take,
    onPage: (count, newest) =>
      progress.say(`${formatCount(count)} rows, to ${newest.slice(0, 10)}`),
  });
  if (format === "csv") {
    await rename(pages, file);
    return rows;
  }
  progress.say("writing Parquet");
  const known = panelColumns({ dayMs: 86_400_000, hasFactors: true });
  await writeTableFile({ ...(await readCsvTable(pages, known)), format, file });
  await rm(pages);
  return rows;
}
