import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { it } from "vitest";
import { announce } from "../../../src/store/port/operations.ts";
import type { Store, StoreIdentity } from "../../../src/store/port/store.ts";
import { emptyDisk, type ModelDisk, openModel } from "../../support/store-model.ts";
import { describeEngines, type Engine, inBatches, START } from "../../support/stores.ts";
import { atomicCommand, type Command, random } from "./commands.ts";
import {
  newPlayer,
  noteAnswer,
  type Player,
  type PreparedCommand,
  prepareCommand,
  readEverything,
} from "./player.ts";

const IDENTITY: StoreIdentity = { id: "the-store-of-all-runs", mode: "sandbox" };

/** Commands that run concurrently after a pause. */
interface Batch {
  readonly ms: number;
  readonly commands: readonly Command[];
}

const batches: fc.Arbitrary<Batch> = fc.record({
  ms: fc.constantFrom(0, 1, 10),
  commands: fc.array(atomicCommand, { minLength: 2, maxLength: 4, size: "max" }),
});
const sequences = fc.array(batches, { minLength: 1, maxLength: 8, size: "max" });

function permutations(of: readonly number[]): readonly (readonly number[])[] {
  if (of.length === 0) return [[]];
  return of.flatMap((first) =>
    permutations(of.filter((other) => other !== first)).map((rest) => [first, ...rest]),
  );
}

/** Resolves the revisions of all commands of a batch before any command runs. */
async function allPrepared(player: Player, commands: readonly Command[]) {
  let ready = player;
  const asks: PreparedCommand["ask"][] = [];
  for (const command of commands) {
    const next = await prepareCommand(ready, command);
    ready = next.player;
    asks.push(next.ask);
  }
  return { player: ready, asks };
}

/** Normalizes the answers to a batch and the store's content after it. */
async function outcome(player: Player, answers: readonly unknown[]) {
  let after = player;
  const words: unknown[] = [];
  for (const each of answers) {
    const { player: next, answer } = noteAnswer(after, each);
    after = next;
    words.push(answer);
  }
  const all = { words, everything: await readEverything(after) };
  return { player: after, told: JSON.parse(JSON.stringify(all)) as unknown };
}

/** The model store, which can be copied to try several orders. */
interface Reference {
  readonly disk: ModelDisk;
  readonly player: Player;
}

function reference(disk: ModelDisk, now: () => number): Reference {
  return { disk, player: newPlayer(openModel({ disk, now })) };
}

/** Runs a batch on the model in every order until one gives the same outcome as the engine. */
async function explained(
  { disk, player }: Reference,
  { commands, told, now }: { commands: readonly Command[]; told: unknown; now: () => number },
): Promise<Reference> {
  const { player: ready, asks } = await allPrepared(player, commands);
  for (const order of permutations([...asks.keys()])) {
    const copy = structuredClone(disk);
    const store = openModel({ disk: copy, now });
    const answers: unknown[] = [];
    for (const at of order) answers[at] = await asks[at]?.(store);
    const { player: after, told: expected } = await outcome({ ...ready, store }, answers);
    if (isDeepStrictEqual(told, expected)) return { disk: copy, player: after };
  }
  throw new Error(`No order of the commands explains ${JSON.stringify(told)}.`);
}

/**
 * Makes a commit that fails: after a load, the first commit of another process is rejected, so that
 * no earlier work enters the loaded store.
 */
async function noticeLoad({ records }: Store): Promise<void> {
  await records.commit([announce("noticed")]).catch(() => undefined);
}

/** Checks that concurrent commands have the result of some sequential order. */
async function explain(engine: Engine, numRuns: number): Promise<void> {
  const clock = { now: START };
  const now = () => clock.now;
  const store = await engine.open({ now });
  const handles: Store[] = [store];
  if (engine.isShared) handles.push(await engine.openBeside(store));
  const run = async (sequence: readonly Batch[]) => {
    clock.now = START;
    await store.load(IDENTITY, inBatches([], 1));
    for (const other of handles.slice(1)) await noticeLoad(other);
    let player = newPlayer(store);
    let model = reference(emptyDisk(IDENTITY), now);
    for (const { ms, commands } of sequence) {
      clock.now += ms;
      const { player: ready, asks } = await allPrepared(player, commands);
      const handle = (at: number) => handles[at % handles.length] as Store;
      const answers = await Promise.all(asks.map((ask, at) => ask(handle(at))));
      const { player: after, told } = await outcome(ready, answers);
      player = after;
      model = await explained(model, { commands, told, now });
    }
  };
  await fc.assert(fc.asyncProperty(sequences, run), { seed: random.seed, numRuns });
}

describeEngines("random concurrent commands", (engine) => {
  const runs = random.runs(engine.isShared ? 40 : 100);
  it(
    `give the same results as some sequential order in the model, in ${runs} sequences of batches`,
    () => explain(engine, runs),
    random.timeoutMs,
  );
});
