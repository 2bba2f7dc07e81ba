import type { Loaded, RawCall } from "../load.ts";
import type { Caller } from "./caller.ts";
import { cpuMs } from "./machine.ts";
import { median } from "./numbers.ts";
import { step } from "./progress.ts";
import type { Server } from "./server.ts";

/** Servers that share the work, and what they are asked. */
export interface Variant {
  readonly name: string;
  readonly servers: readonly Pick<Server, "baseUrl" | "pid">[];
  readonly calls: readonly RawCall[];
  /** Callers that ask at the same time, where it is not as many as for the others. */
  readonly callers?: number;
  /** Processes that work for them. */
  readonly helpers?: () => readonly number[];
}

/** What one round of a variant showed. */
export interface Round extends Loaded {
  readonly perSecond: number;
  /** Time of the server's processor for a call, in microseconds. */
  readonly cpuMicros: number;
}

/** How long and how often is measured. */
export interface Pace {
  readonly rounds: number;
  /** Length of a round, in milliseconds. */
  readonly ms: number;
  /** Time of the processor that each server has before its first round, in milliseconds: however busy
   *  the machine is, the compiler has seen everything by then. */
  readonly warmUpMs: number;
  /** Callers that ask at the same time. */
  readonly callers: number;
}

/** Rounds by variant. */
export type Rounds = Readonly<Record<string, readonly Round[]>>;

/** Calls a server for one round. @throws {Error} When an answer was not right. */
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
  if (loaded.wrong > 0) throw new Error(`${name}: ${loaded.wrong} wrong: ${loaded.firstWrong}`);
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

/** Runs variants in turn, so that other work of the machine affects all of them equally. */
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
    step(round + 1, pace.rounds);
    for (const variant of variants) {
      rounds[variant.name]?.push(await measure(caller, variant, pace));
    }
  }
  return rounds;
}

/** Which number of a round is meant. */
type Member = (round: Round) => number;
export const throughput: Member = ({ perSecond }) => perSecond;
export const cpu: Member = ({ cpuMicros }) => cpuMicros;

/** Median of a variant. */
export const typical = (rounds: Rounds, name: string, pick: Member): number =>
  median((rounds[name] ?? []).map(pick));

/** Median of the ratios of two variants, round by round. */
export function ratioOf(rounds: Rounds, [name, baseline]: readonly [string, string], pick: Member) {
  const others = rounds[baseline] ?? [];
  return median((rounds[name] ?? []).map((round, at) => pick(round) / pick(others[at] as Round)));
}
