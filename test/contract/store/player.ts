import type { FollowingRows } from "../../../src/store/port/archive.ts";
import { collection, type Operation, type Stored } from "../../../src/store/port/records.ts";
import type { Store } from "../../../src/store/port/store.ts";
import { dumpStore } from "../../support/stores.ts";
import type { Command, Step } from "./commands.ts";

/** A seen revision, with its collection and key. */
interface Seen {
  readonly collection: string;
  readonly key: string;
  readonly revision: number;
}

/**
 * Runs commands on one store. Stores with equal answers may number revisions differently, so a
 * player refers to revisions by the order in which it has seen them.
 */
export interface Player {
  readonly store: Store;
  readonly seen: readonly Seen[];
  /** The last reading of each list, by collection, group and limit. */
  readonly lists: ReadonlyMap<string, Operation>;
  /** Place up to which the player has followed the archive. */
  readonly place: number;
}

/** Creates a player that has seen no revision. */
export function newPlayer(store: Store): Player {
  return { store, seen: [], lists: new Map(), place: 0 };
}

/**
 * A player that has seen an answer, and that answer with its revisions replaced by the order in
 * which the player has seen them.
 */
export interface NotedAnswer {
  readonly player: Player;
  readonly answer: unknown;
}

/**
 * A command with resolved revisions. It can run on any store whose revisions equal those of the
 * player's store.
 */
export interface PreparedCommand {
  readonly player: Player;
  readonly ask: (store: Store) => Promise<unknown>;
}

/** Executes a command and waits for its answer. */
export async function playCommand(player: Player, command: Command): Promise<NotedAnswer> {
  const { player: ready, ask } = await prepareCommand(player, command);
  return noteAnswer(ready, await ask(ready.store));
}

/** Resolves the revisions to which a command refers. */
export async function prepareCommand(player: Player, command: Command): Promise<PreparedCommand> {
  if (command.kind !== "commit") return { player, ask: question(player, command) };
  let ready = player;
  const operations: Operation[] = [];
  for (const step of command.steps) {
    if (step.kind === "checkList") {
      ready = await withList(ready, step);
      operations.push(ready.lists.get(placeOf(step)) as Operation);
      continue;
    }
    if ("age" in step) ready = noteAnswer(ready, await got(ready.store, step)).player;
    operations.push(operationOf(step, ready));
  }
  return { player: ready, ask: (store) => store.records.commit(operations) };
}

type ListStep = Extract<Step, { kind: "checkList" }>;

const placeOf = ({ collection: from, group, limit }: ListStep): string =>
  JSON.stringify([from, group, limit]);

/** A player that has read a list: now, or before if the step says so. */
async function withList(player: Player, step: ListStep): Promise<Player> {
  const place = placeOf(step);
  if (!step.isReadNow && player.lists.has(place)) return player;
  const { collection: from, group, limit } = step;
  const grouped = group === undefined ? {} : { group };
  const listed = await player.store.records.list(collection(from), { ...grouped, limit });
  const check: Operation = {
    kind: "checkList",
    collection: from,
    ...grouped,
    after: 0,
    count: listed.length,
    newest: listed.at(-1)?.revision ?? 0,
    isWhole: listed.length < limit,
  };
  return { ...player, lists: new Map([...player.lists, [place, check]]) };
}

function operationOf(step: Exclude<Step, ListStep>, { seen }: Player): Operation {
  if (!("age" in step)) return step;
  const { age, ...named } = step;
  const revisions = seen
    .filter(({ collection, key }) => collection === step.collection && key === step.key)
    .map(({ revision }) => revision)
    .sort((a, b) => b - a);
  const revision = revisions[age % revisions.length] ?? 0;
  return named.kind === "removeAt"
    ? { ...named, kind: "remove", revision }
    : { ...named, revision };
}

function question(
  { seen, place }: Player,
  command: Exclude<Command, { kind: "commit" }>,
): PreparedCommand["ask"] {
  switch (command.kind) {
    case "get":
      return (store) => got(store, command);
    case "list":
      return (store) => listed(store, command, seen);
    case "claimDue":
      return async ({ records }) =>
        placed(command.collection, await records.claimDue(collection(command.collection), command));
    case "purge":
      return ({ records }) => records.purgeExpired(command.limit);
    case "append":
      return ({ archive }) => archive.append(command.rows);
    case "read":
      return ({ archive }) => archive.read(command.of, command.selection);
    case "follow":
      return ({ archive }) => archive.follow(new Set(command.of), place, command.limit);
    case "prune":
      return ({ archive }) => archive.prune(command.of, command.before);
  }
}

async function got({ records }: Store, at: Pick<Seen, "collection" | "key">): Promise<unknown> {
  const stored = await records.get(collection(at.collection), at.key);
  return stored && placed(at.collection, [stored])[0];
}

async function listed(
  { records }: Store,
  { collection: from, group, after, limit }: Extract<Command, { kind: "list" }>,
  seen: readonly Seen[],
): Promise<unknown> {
  const revision = after === undefined ? undefined : seen[after % seen.length]?.revision;
  const selection = {
    limit,
    ...(group !== undefined && { group }),
    ...(revision !== undefined && { after: revision }),
  };
  return placed(from, await records.list(collection(from), selection));
}

const placed = (name: string, stored: readonly Stored<unknown>[]) =>
  stored.map((each) => ({ collection: name, ...each }));

/** Adds the revisions in an answer to those that the player has seen, or goes on to its place. */
export function noteAnswer(player: Player, answer: unknown): NotedAnswer {
  if (isFollowing(answer)) {
    const { rows, place } = answer;
    return { player: { ...player, place }, answer: { rows, isMore: place > player.place } };
  }
  const seen = [...player.seen];
  const inOwnWords = (one: unknown) => {
    if (!isRevised(one)) return one;
    const known = seen.findIndex(({ revision }) => revision === one.revision);
    const { collection, key, revision } = one;
    return {
      ...one,
      revision: known === -1 ? seen.push({ collection, key, revision }) - 1 : known,
    };
  };
  const words = Array.isArray(answer) ? answer.map(inOwnWords) : inOwnWords(answer);
  return { player: { ...player, seen }, answer: words };
}

const isFollowing = (answer: unknown): answer is FollowingRows =>
  typeof answer === "object" && answer !== null && "rows" in answer && "place" in answer;

function isRevised(one: unknown): one is Seen {
  return typeof one === "object" && one !== null && "collection" in one && "revision" in one;
}

/**
 * Returns the whole content of a store, and the order of all revisions that the player has seen.
 */
export async function readEverything(player: Player): Promise<unknown> {
  const { player: after, answer } = noteAnswer(player, await dumpStore(player.store));
  const order = after.seen
    .map(({ revision }, ordinal) => ({ revision, ordinal }))
    .sort((a, b) => a.revision - b.revision)
    .map(({ ordinal }) => ordinal);
  return { rows: answer, order, counts: await player.store.counts() };
}
