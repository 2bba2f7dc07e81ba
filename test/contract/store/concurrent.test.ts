import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { it } from "vitest";
import { announce } from "../../../src/store/port/operations.ts";
import type { Store, StoreIdentity } from "../../../src/store/port/store.ts";
import { emptyDisk, type ModelDisk, openModel } from "../../support/store-model.ts";
import { describeEngines, type Engine, inBatches, START } from "../../support/stores.ts";
import { atomicCommand, type Command, random } from "./commands.ts";
import { everything, newPlayer, noted, type Player, type Prepared, prepared } from "./player.ts";

const IDENTITY: StoreIdentity = { id: "the-store-of-all-runs", mode: "sandbox" };

/** Commands that are given at once, after some time has passed. */
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

/** Looks up what the commands of a batch name, before any of them is given. */
async function allPrepared(player: Player, commands: readonly Command[]) {
  let ready = player;
  const asks: Prepared["ask"][] = [];
  for (const command of commands) {
    const next = await prepared(ready, command);
    ready = next.player;
    asks.push(next.ask);
  }
  return { player: ready, asks };
}

/** What a player makes of the answers to a batch and of all that is there after it. */
async function outcome(player: Player, answers: readonly unknown[]) {
  let after = player;
  const words: unknown[] = [];
  for (const each of answers) {
    const { player: next, answer } = noted(after, each);
    after = next;
    words.push(answer);
  }
  const all = { words, everything: await everything(after) };
  return { player: after, told: JSON.parse(JSON.stringify(all)) as unknown };
}

/** The model, which can be copied to try several orders. */
interface Reference {
  readonly disk: ModelDisk;
  readonly player: Player;
}

function reference(disk: ModelDisk, now: () => number): Reference {
  return { disk, player: newPlayer(openModel({ disk, now })) };
}

/** Gives a batch to the model in one order after the other until one of them explains the engine. */
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

/** Another process is refused once after a load, so that nothing begun before it goes into it. */
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
    `match the model in some order, in ${runs} sequences of batches`,
    () => explain(engine, runs),
    random.timeoutMs,
  );
});
