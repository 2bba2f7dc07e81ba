import fc from "fast-check";
import type { ArchiveRow, ArchiveSelection } from "../../../src/store/port/archive.ts";
import type { Operation, ReplaceOptions, WriteOptions } from "../../../src/store/port/records.ts";

/**
 * A step that specifies a revision by its age among the revisions of the record that the player has
 * seen.
 */
export type Step =
  | Extract<
      Operation,
      { kind: "put" | "insert" | "consume" | "removeGroup" | "append" | "checkAbsent" }
    >
  | { readonly kind: "remove"; readonly collection: string; readonly key: string }
  | {
      readonly kind: "replace";
      readonly collection: string;
      readonly key: string;
      readonly value: unknown;
      readonly placing: ReplaceOptions;
      /** 0 is the newest revision, 1 the one before, and so on; the age wraps around. */
      readonly age: number;
    }
  | {
      readonly kind: "removeAt";
      readonly collection: string;
      readonly key: string;
      readonly age: number;
    }
  | {
      readonly kind: "check";
      readonly collection: string;
      readonly key: string;
      readonly age: number;
    }
  | {
      readonly kind: "checkList";
      readonly collection: string;
      readonly group: string | undefined;
      readonly limit: number;
      /** Whether to check the list as it is, or as the player has read it last. */
      readonly isReadNow: boolean;
    };

/** An operation on a store, as plain data. */
export type Command =
  | { readonly kind: "commit"; readonly steps: readonly Step[] }
  | { readonly kind: "get"; readonly collection: string; readonly key: string }
  | {
      readonly kind: "list";
      readonly collection: string;
      readonly group: string | undefined;
      /** Index of the seen revision that is passed as `after`; absent to pass none. */
      readonly after: number | undefined;
      readonly limit: number;
    }
  | {
      readonly kind: "claimDue";
      readonly collection: string;
      readonly limit: number;
      readonly leaseMs: number;
      readonly except: readonly string[];
    }
  | { readonly kind: "purge"; readonly limit: number }
  | { readonly kind: "append"; readonly rows: readonly ArchiveRow[] }
  | { readonly kind: "read"; readonly of: string; readonly selection: ArchiveSelection }
  /** Goes on from where the player has followed the archive to. */
  | { readonly kind: "follow"; readonly of: readonly string[]; readonly limit: number }
  | { readonly kind: "prune"; readonly of: string; readonly before: number };

const LONG_RUNS = process.env.STORE_MODEL_RUNS;

/**
 * Settings of the random tests: a fixed seed makes the sequences the same for every engine and run.
 */
export const random = {
  seed: Number(process.env.STORE_MODEL_SEED ?? 20_261_121),
  /** Number of sequences: STORE_MODEL_RUNS, or by default a number that takes only seconds. */
  runs: (short: number) => Number(LONG_RUNS ?? short),
  timeoutMs: LONG_RUNS === undefined ? 60_000 : 24 * 3_600_000,
} as const;

/** Chooses among arbitraries in proportion to their weights. */
function weighted<T>(...choices: readonly [number, fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const is = <K extends string>(kind: K) => fc.constant(kind);

// A few names, including unusual ones, so that commands collide.
const at = {
  collection: fc.constantFrom("a", "b"),
  key: fc.constantFrom("k", "", "__proto__", "ключ 😀"),
};
const group = fc.constantFrom("g", "h");
const groups = fc.array(group, { maxLength: 2 });
const limit = fc.constantFrom(1, 2, 100);
/** Durations in milliseconds. */
const span = fc.constantFrom(-5, 0, 1, 10, 100, 1000);
const value = weighted<unknown>(
  [4, fc.nat(9)],
  [1, fc.jsonValue({ maxDepth: 2, stringUnit: "binary" })],
);
const placing = weighted<WriteOptions>(
  [1, fc.constant({})],
  [4, fc.record({ groups, dueInMs: span })],
  [2, fc.record({ groups, dueInMs: span, ttlMs: span })],
);
const replacing = fc.record(
  { groups, dueInMs: fc.option(span), ttlMs: fc.option(span) },
  { requiredKeys: [] },
) as fc.Arbitrary<ReplaceOptions>;
const age = weighted([5, fc.constant(0)], [1, fc.constantFrom(1, 2)]);

const named = { at: fc.nat(2), id: fc.constantFrom("", "a", "\uffee", "😀") };
const subject = fc.constantFrom("s", "t");
const of = fc.constantFrom("audit", "delivery");
const row = fc.record(
  { kind: of, ...named, subject, body: value },
  { requiredKeys: ["kind", "at", "id", "body"] },
) as fc.Arbitrary<ArchiveRow>;
const step = weighted<Step>(
  [6, fc.record({ kind: is("put"), ...at, value, placing })],
  [4, fc.record({ kind: is("insert"), ...at, value, placing })],
  [4, fc.record({ kind: is("replace"), ...at, value, placing: replacing, age })],
  [2, fc.record({ kind: is("consume"), ...at })],
  [1, fc.record({ kind: is("remove"), ...at })],
  [1, fc.record({ kind: is("removeAt"), ...at, age })],
  [1, fc.record({ kind: is("check"), ...at, age })],
  [1, fc.record({ kind: is("checkAbsent"), ...at })],
  [
    3,
    fc.record({
      kind: is("checkList"),
      collection: at.collection,
      group: fc.option(group, { nil: undefined }),
      limit,
      isReadNow: fc.boolean(),
    }),
  ],
  [1, fc.record({ kind: is("removeGroup"), group })],
  [1, fc.record({ kind: is("append"), row })],
);
const steps = weighted(
  [2, fc.tuple(step)],
  [1, fc.array(step, { minLength: 2, maxLength: 4, size: "max" })],
);

/** Commands on records. Each must be atomic under concurrency. */
export const atomicCommand: fc.Arbitrary<Command> = weighted<Command>(
  [10, fc.record({ kind: is("commit"), steps })],
  [
    3,
    fc.record({
      kind: is("claimDue"),
      collection: at.collection,
      limit,
      leaseMs: span,
      except: groups,
    }),
  ],
  [2, fc.record({ kind: is("get"), ...at })],
  [
    3,
    fc.record({
      kind: is("list"),
      collection: at.collection,
      group: fc.option(group, { nil: undefined }),
      after: fc.option(fc.nat(50), { nil: undefined }),
      limit,
    }),
  ],
);

/** All record commands. */
export const recordCommand: fc.Arbitrary<Command> = weighted<Command>(
  [10, atomicCommand],
  // Purges all expired records, since the order of deletion is unspecified.
  [1, fc.record({ kind: is("purge"), limit: fc.constant(100) })],
);

const selection = fc.record(
  {
    subject,
    from: named.at,
    to: named.at,
    order: fc.constantFrom("oldest", "newest"),
    after: fc.record(named),
    limit,
  },
  { requiredKeys: ["order", "limit"] },
) as fc.Arbitrary<ArchiveSelection>;

/** All archive commands. */
export const archiveCommand: fc.Arbitrary<Command> = weighted<Command>(
  [3, fc.record({ kind: is("append"), rows: fc.array(row, { maxLength: 5, size: "max" }) })],
  [3, fc.record({ kind: is("read"), of, selection })],
  [2, fc.record({ kind: is("follow"), of: fc.array(of, { maxLength: 2 }), limit })],
  [1, fc.record({ kind: is("prune"), of, before: named.at })],
);
