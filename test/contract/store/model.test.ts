import fc from "fast-check";
import { expect, it } from "vitest";
import type { StoreIdentity } from "../../../src/store/port/store.ts";
import { type Engine, embedded, inBatches, model, postgres, START } from "../../support/stores.ts";
import { archiveCommand, type Command, random, recordCommand } from "./commands.ts";
import { newPlayer, type Player, playCommand, readEverything } from "./player.ts";

const IDENTITY: StoreIdentity = { id: "the-store-of-all-runs", mode: "sandbox" };

type Asked = Command | { readonly kind: "restart" };
type Move = Asked | { readonly kind: "advance"; readonly ms: number };

const advances = fc.record({
  kind: fc.constant("advance" as const),
  ms: fc.constantFrom(1, 9, 10, 90, 100),
});
const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 30, arbitrary: recordCommand },
  { weight: 8, arbitrary: archiveCommand },
  { weight: 6, arbitrary: advances },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("restart" as const) }) },
);
const sequences = fc.array(moves, { minLength: 1, maxLength: 40, size: "max" });

/** One of the two compared stores. */
interface Side {
  readonly engine: Engine;
  readonly player: Player;
}

async function asked({ engine, player }: Side, move: Asked) {
  if (move.kind === "restart") {
    const store = await engine.reopen(player.store);
    return { side: { engine, player: { ...player, store } }, answer: "restarted" };
  }
  const { answer, ...next } = await playCommand(player, move);
  return { side: { engine, ...next }, answer };
}

async function emptied({ engine, player: { store } }: Side): Promise<Side> {
  await store.load(IDENTITY, inBatches([], 1));
  return { engine, player: newPlayer(store) };
}

/** Runs the same commands on two stores, and expects equal answers and finally equal data. */
async function compare(one: Engine, other: Engine, numRuns: number): Promise<void> {
  const clock = { now: START };
  const open = async (engine: Engine): Promise<Side> => {
    const store = await engine.open({ now: () => clock.now });
    return { engine, player: newPlayer(store) };
  };
  let [left, right] = [await open(one), await open(other)];
  const run = async (sequence: readonly Move[]) => {
    clock.now = START;
    [left, right] = [await emptied(left), await emptied(right)];
    for (const move of sequence) {
      if (move.kind === "advance") {
        clock.now += move.ms;
        continue;
      }
      const [expected, actual] = [await asked(left, move), await asked(right, move)];
      expect(actual.answer).toEqual(expected.answer);
      [left, right] = [expected.side, actual.side];
    }
    expect(await readEverything(right.player)).toEqual(await readEverything(left.player));
  };
  await fc.assert(fc.asyncProperty(sequences, run), { seed: random.seed, numRuns });
}

const pairs = [
  { left: model, right: embedded, shortRuns: 200 },
  { left: model, right: postgres, shortRuns: 40 },
  { left: embedded, right: postgres, shortRuns: 20 },
];

for (const { left, right, shortRuns } of pairs) {
  const runs = random.runs(shortRuns);
  it.skipIf(right.isMissing)(
    `random commands give equal answers and equal data in two stores (${left.name}, ${right.name}), in ${runs} sequences`,
    { timeout: random.timeoutMs, tags: [...right.tags] },
    () => compare(left, right, runs),
  );
}
