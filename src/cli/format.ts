import type { StoreCounts } from "../store/port/store.ts";

/** Formats a number for people, for example `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** The size of a store in rows, for example `1,234 records and 56 archive rows`. */
export function rowCountsText({ records, archive }: StoreCounts): string {
  const plural = (count: number, what: string) =>
    `${formatCount(count)} ${what}${count === 1 ? "" : "s"}`;
  return `${plural(records, "record")} and ${plural(archive, "archive row")}`;
}

/** Formats a size in bytes for people, for example `1.2 MB`. */
export function sizeText(bytes: number): string {
  return bytes < 1_000_000
    ? `${(bytes / 1_000).toFixed(1)} kB`
    : `${formatCount(Math.round(bytes / 100_000) / 10)} MB`;
}

/** Lines with the counts and their names, indented. */
export function countLines(counts: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(counts).map(([name, count]) => `  ${name}: ${formatCount(count)}`);
}

/** A duration in the largest unit of which it contains at least two, for example `5 min`. */
export function durationText(ms: number): string {
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1_000, "s"],
  ] as const;
  const [size, name] = units.find(([unit]) => ms >= 2 * unit) ?? [1_000, "s"];
  return `${Math.round(ms / size)} ${name}`;
}
