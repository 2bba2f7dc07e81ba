// Preloaded into the service process, this module lets the parent process shift the service's wall
// clock, as an operator or a time server would; monotonic clocks are not affected. The parent sends
// the offset in milliseconds, and receives the same number as a confirmation.

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
