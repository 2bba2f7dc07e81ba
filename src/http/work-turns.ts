/**
 * Number of turns after the one that works in which most of its work is done, because Express lets
 * other events of the loop come first.
 */
const LATER_TURNS = 1;

/**
 * Turns of the event loop that work, and turns that only accept connections. Node.js accepts one
 * connection per turn, and what is not accepted waits in the kernel in the order of arrival, where
 * one network can delay all others. So while connections arrive, some turns only accept them, for
 * about as long as the work before them took.
 */
export class WorkTurns {
  readonly #now: () => number;
  #work: (() => void)[] = [];
  /** Whether there is a next turn. */
  #isRunning = false;
  /** Whether a connection was accepted since the last turn. */
  #hasAccepted = false;
  /** Start of the last turn that worked, in milliseconds. */
  #workedAt = 0;
  /** Number of turns since then that only accepted connections. */
  #acceptTurns = 0;
  /** Time until which turns may only accept connections, in milliseconds. */
  #acceptUntil = 0;

  /** @param now Monotonic clock, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether this turn only accepts connections. */
  get isAccepting(): boolean {
    return this.#acceptTurns > 0;
  }

  /** A connection was accepted. */
  noteConnection(): void {
    this.#hasAccepted = true;
  }

  /** Calls `work` once, in the next turn that works. */
  schedule(work: () => void): void {
    this.#work.push(work);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#workedAt = this.#now();
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isRunning = this.#work.length > 0;
    if (!this.#isRunning) return;
    setImmediate(this.#turn);
    const at = this.#now();
    if (this.#acceptTurns === LATER_TURNS) this.#acceptUntil = at + (at - this.#workedAt);
    const mayAccept = this.#acceptTurns < LATER_TURNS || at < this.#acceptUntil;
    if (this.#hasAccepted && mayAccept) this.#acceptTurns += 1;
    else this.#doWork(at);
    this.#hasAccepted = false;
  };

  #doWork(at: number): void {
    this.#acceptTurns = 0;
    this.#workedAt = at;
    const due = this.#work;
    this.#work = [];
    for (const work of due) work();
  }
}

/** The turns of this process, which has one event loop. */
export const workTurns = new WorkTurns(() => performance.now());
