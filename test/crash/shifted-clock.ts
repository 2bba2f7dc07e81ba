// Loaded before the service, this lets its parent process set the wall clock of it, as an operator or
// a time server would; clocks that are never set go on. The parent sends by how many milliseconds the
// clock is off, and gets the same back.

const RealDate = globalThis.Date;
let offMs = 0;

class ShiftedDate extends RealDate {
  constructor(...given: readonly unknown[]) {
    super(...((given.length === 0 ? [ShiftedDate.now()] : given) as []));
  }

  static override now(): number {
    return RealDate.now() + offMs;
  }
}

globalThis.Date = ShiftedDate as DateConstructor;

process.on("message", (ms) => {
  offMs = Number(ms);
  process.send?.(ms);
});
process.channel?.unref();

export {};
