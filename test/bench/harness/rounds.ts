import type { LoadResult, RawCall } from "../load.ts";
import type { Caller } from "./caller.ts";
import { cpuMs } from "./machine.ts";
import { median } from "./numbers.ts";
import { showStep } from "./progress.ts";
import type { Server } from "./server.ts";

/** A group of servers that share the load, and the requests that they receive. */
export interface Variant {
  readonly name: string;
  readonly servers: readonly Pick<Server, "baseUrl" | "pid">[];
  readonly calls: readonly RawCall[];
  /** Number of concurrent callers; default: `callers` of the pace. */
  readonly callers?: number;
  /** Process ids of helpers, such as a database, whose CPU time is counted too. */
  readonly helpers?: () => readonly number[];
}

/** Result of one round of a variant. */
export interface Round extends LoadResult {
  readonly perSecond: number;
  /** CPU time of the servers and their helpers per call, in microseconds. */
  readonly cpuMicros: number;
}

/** Number and length of the rounds. */
export interface Pace {
  readonly rounds: number;
  /** Length of a round, in milliseconds. */
  readonly ms: number;
  /**
   * CPU time that each server spends before its first round, in milliseconds. Unlike wall-clock
   * time, it guarantees that V8 has compiled all hot code, even on a busy machine.
   */
  readonly warmUpMs: number;
  /** Number of concurrent callers. */
  readonly callers: number;
}

/** Measured rounds, by name of the variant. */
export type Rounds = Readonly<Record<string, readonly Round[]>>;

/** Sends load to a variant for one round. @throws {Error} When an answer is wrong. */
export async function measure(
  caller: Caller,
  { name, servers, calls, helpers = () => [], ...own }: Variant,
  pace: Pick<Pace, "ms" | "callers">,
): Promise<Round> {
  const { ms, callers } = { ...pace, ...own };
  const ports = servers.map(({ baseUrl }) => Number(new URL(baseUrl).port));
  const processes = () => [...servers.map(({ pid }) => pid), ...helpers()];
  const spent = () => processes().reduce((sum, pid) => sum + cpuMs(pid), 0);
  const before = spent();
  const loaded = await caller.call({ ports, callers, ms, calls });
  const spentMs = spent() - before;
  if (loaded.wrong > 0)
    throw new Error(`${name}: ${loaded.wrong} wrong answers, the first: ${loaded.firstWrong}`);
  const { answered, seconds } = loaded;
  return { ...loaded, perSecond: answered / seconds, cpuMicros: (1_000 * spentMs) / answered };
}

async function warmUp(caller: Caller, variant: Variant, pace: Pace): Promise<void> {
  const enoughMs = pace.warmUpMs * variant.servers.length;
  let spentMs = 0;
  while (spentMs < enoughMs) {
    const { cpuMicros, answered } = await measure(caller, variant, pace);
    spentMs += (cpuMicros * answered) / 1_000;
  }
}

/** Runs the variants round-robin, so that other load of the machine affects all of them equally. */
export async function takeTurns(
  caller: Caller,
  variants: readonly Variant[],
  pace: Pace,
): Promise<Rounds> {
  for (const variant of variants) await warmUp(caller, variant, pace);
  const rounds: Record<string, Round[]> = Object.fromEntries(
    variants.map(({ name }) => [name, []]),
  );
  for (let round = 0; round < pace.rounds; round++) {
    showStep(round + 1, pace.rounds);
    for (const variant of variants) {
      rounds[variant.name]?.push(await measure(caller, variant, pace));
    }
  }
  return rounds;
}

/** Picks one number of a round. */
type Member = (round: Round) => number;
export const requestsPerSecond: Member = ({ perSecond }) => perSecond;
export const cpuMicrosPerRequest: Member = ({ cpuMicros }) => cpuMicros;

/** Median of one number over the rounds of a variant. */
export const medianOfRounds = (rounds: Rounds, name: string, pick: Member): number =>
  median((rounds[name] ?? []).map(pick));

/** Median, over the rounds, of the ratio of one variant's number to the other's. */
export function ratioOf(rounds: Rounds, [name, baseline]: readonly [string, string], pick: Member) {
  const others = rounds[baseline] ?? [];
  return median((rounds[name] ?? []).map((round, at) => pick(round) / pick(others[at] as Round)));
}
