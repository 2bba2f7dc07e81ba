import type { ArchiveRow } from "../../src/store/port/archive.ts";
import {
  appendToArchive as archiveRow,
  consume,
  insert,
  put,
  remove,
  removeGroup,
  removeUnchanged,
  replace,
} from "../../src/store/port/operations.ts";
import type { Operation, Stored } from "../../src/store/port/records.ts";
import type { Store } from "../../src/store/port/store.ts";
import {
  contest,
  counter,
  type Document,
  documentOf,
  familyOf,
  ROW_KIND,
  seenDocument,
  slots,
  won,
} from "./places.ts";
import type { Attempt, Standing } from "./reports.ts";

/** A prepared step of a lane. */
export interface Step extends Pick<Attempt, "found" | "effects" | "expects"> {
  /** Executes the step. @returns Whether its condition was fulfilled. */
  run(): Promise<boolean>;
}

/** Current state of a lane. */
export interface LaneState {
  readonly store: Store;
  readonly lane: string;
  /** Number of the step within the lane. */
  readonly step: number;
  /** Unique mark of the values that this step writes. */
  readonly mark: string;
}

/** Number of slots of a lane: a prime, so that every recipe is applied to every slot. */
const SLOTS = 23;

/** Interval, in steps, at which all lanes compete for the same key. */
const CONTEST_EVERY = 101;

/** Numbers of the records in the group that is written and removed as a whole. */
const FAMILY = [0, 1, 2];

type Recipe = (at: LaneState) => Promise<Step>;

/** Reads the records that the next step of a lane depends on, and prepares the step. */
export function nextStep(at: LaneState): Promise<Step> {
  if (at.step % CONTEST_EVERY === 0) return tryForPlace(at);
  const recipe = recipes[at.step % recipes.length] as Recipe;
  return recipe(at);
}

const recipes: readonly Recipe[] = [
  write,
  change,
  use,
  writePair,
  end,
  fileWithRecord,
  exchange,
  breakPair,
  grant,
  append,
  revoke,
  use,
];

interface Slot {
  readonly key: string;
  readonly stored: Stored<Document> | undefined;
  /** Place of the slot, and its current value. */
  readonly standing: Standing;
  /** Place of the slot, and its value after this step. */
  readonly written: Standing;
}

/**
 * Reads one of the lane's slots.
 *
 * @param nth Selects a different slot within the same step.
 */
async function slotOf({ store, lane, step, mark }: LaneState, nth = 0): Promise<Slot> {
  const key = `${lane}.${(step + nth) % SLOTS}`;
  const stored = await store.records.get(slots, key);
  const place = `slot/${key}`;
  return { key, stored, standing: [place, seenDocument(stored)], written: [place, mark] };
}

async function write(at: LaneState): Promise<Step> {
  const { key, stored, standing, written } = await slotOf(at);
  const value = documentOf(at.mark);
  const operation = stored ? put(slots, { key, value }) : insert(slots, { key, value });
  return commits(at, [operation], { found: [standing], effects: [written] });
}

async function change(at: LaneState): Promise<Step> {
  const { key, stored, standing, written } = await slotOf(at);
  const value = documentOf(at.mark);
  const operation = stored ? replace(slots, stored, { value }) : put(slots, { key, value });
  // A consumed record stays consumed when it is replaced.
  const after = stored?.consumedAt === undefined ? at.mark : `${at.mark}*`;
  return commits(at, [operation], { found: [standing], effects: [[written[0], after]] });
}

async function use(at: LaneState): Promise<Step> {
  const { key, standing } = await slotOf(at);
  const [place, before] = standing;
  const isFresh = before !== null && !before.endsWith("*");
  const effects: readonly Standing[] = isFresh ? [[place, `${before}*`]] : [];
  const expects = isFresh ? "held" : "not held";
  return commits(at, [consume(slots, key)], { found: [standing], effects, expects });
}

async function end(at: LaneState): Promise<Step> {
  const { key, stored, standing } = await slotOf(at);
  const operation = stored ? removeUnchanged(slots, stored) : remove(slots, key);
  return commits(at, [operation], { found: [standing], effects: [[standing[0], null]] });
}

async function writePair(at: LaneState): Promise<Step> {
  const pair = [await slotOf(at), await slotOf(at, 1)];
  const value = documentOf(at.mark);
  return commits(
    at,
    pair.map(({ key }) => put(slots, { key, value })),
    { found: pair.map(({ standing }) => standing), effects: pair.map(({ written }) => written) },
  );
}

/** Consumes one record and writes another, as in the exchange of a code for a token. */
async function exchange(at: LaneState): Promise<Step> {
  const [code, token] = [await slotOf(at), await slotOf(at, 1)];
  const [place, before] = code.standing;
  const isFresh = before !== null && !before.endsWith("*");
  const value = documentOf(at.mark);
  return commits(at, [put(slots, { key: token.key, value }), consume(slots, code.key)], {
    found: [code.standing, token.standing],
    effects: [token.written, ...(isFresh ? [[place, `${before}*`] as const] : [])],
    expects: isFresh ? "held" : "not held",
  });
}

/** Prepares two writes in one commit; the condition of the second always fails. */
async function breakPair(at: LaneState): Promise<Step> {
  const [first, second] = [await slotOf(at), await slotOf(at, 1)];
  const value = documentOf(at.mark);
  const impossible = second.stored
    ? insert(slots, { key: second.key, value })
    : replace(slots, { key: second.key, revision: 0 }, { value });
  return commits(at, [put(slots, { key: first.key, value }), impossible], {
    found: [first.standing, second.standing],
    effects: [first.written, second.written],
    expects: "not held",
  });
}

async function fileWithRecord(at: LaneState): Promise<Step> {
  const { key, standing, written } = await slotOf(at);
  const row = rowOf(at.mark);
  const operations = [put(slots, { key, value: documentOf(at.mark) }), archiveRow(row)];
  const filed: Standing = [`row/${row.id}`, at.mark];
  return commits(at, operations, { found: [standing], effects: [written, filed] });
}

async function append({ store, mark }: LaneState): Promise<Step> {
  const rows = [rowOf(mark, "a"), rowOf(mark, "b")];
  const effects = rows.map(({ id }) => [`row/${id}`, mark] as const);
  const run = async () => (await store.archive.append(rows)) === rows.length;
  return { found: [], effects, expects: "held", run };
}

async function grant(at: LaneState): Promise<Step> {
  const groups = [familyOf(at.lane)];
  const keys = FAMILY.map((member) => `${at.lane}.f${member}`);
  return commits(
    at,
    keys.map((key) => put(slots, { key, value: documentOf(at.mark), groups })),
    { found: [], effects: keys.map((key) => [`slot/${key}`, at.mark]) },
  );
}

async function revoke(at: LaneState): Promise<Step> {
  const effects = FAMILY.map((member) => [`slot/${at.lane}.f${member}`, null] as const);
  return commits(at, [removeGroup(familyOf(at.lane))], { found: [], effects });
}

/**
 * Increments the counter and claims the place with the new number, unless another lane is faster.
 */
async function tryForPlace(at: LaneState): Promise<Step> {
  const stored = await at.store.records.get(counter, contest);
  const number = stored?.value.count ?? 0;
  const value = { count: number + 1 };
  const raise = stored
    ? replace(counter, stored, { value })
    : insert(counter, { key: contest, value });
  const take = put(won, { key: String(number), value: documentOf(at.mark) });
  const effects: readonly Standing[] = [[`won/${number}`, at.mark]];
  return commits(at, [raise, take], { found: [], effects, expects: "either" });
}

function commits(
  { store }: LaneState,
  operations: readonly Operation[],
  step: Pick<Step, "found" | "effects"> & Partial<Pick<Step, "expects">>,
): Step {
  return { expects: "held", ...step, run: () => store.records.commit(operations) };
}

function rowOf(mark: string, suffix = ""): ArchiveRow {
  return { kind: ROW_KIND, at: Date.now(), id: mark + suffix, body: documentOf(mark) };
}
