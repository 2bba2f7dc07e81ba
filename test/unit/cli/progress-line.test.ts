import { describe, expect, it } from "vitest";
import { createProgressLine } from "../../../src/cli/progress-line.ts";

function terminal(isTTY: boolean) {
  const written: string[] = [];
  const clock = { now: 5_000 };
  const output = { isTTY, write: (text: string) => written.push(text) };
  const line = createProgressLine(output, () => clock.now);
  const show = (fraction: number) => line.show({ doing: "copying", rows: 12_345, fraction });
  return { line, written, clock, show };
}

describe("the progress line", () => {
  it("prints nothing within the first second", () => {
    const { line, written, clock, show } = terminal(true);
    show(0.1);
    clock.now += 999;
    show(0.9);
    line.end();
    expect(written).toEqual([]);
  });

  it("consists of percentage, rows and elapsed time on one line, which is erased at the end", () => {
    const { line, written, clock, show } = terminal(true);
    clock.now += 1_000;
    show(0.256);
    clock.now += 99;
    show(0.3);
    clock.now += 2_001;
    show(0.999);
    line.end();
    line.end();
    expect(written).toEqual([
      "\r\u001b[Kcopying: 25%, 12,345 rows, 1 s",
      "\r\u001b[Kcopying: 99%, 12,345 rows, 3 s",
      "\r\u001b[K",
    ]);
  });

  it("is written only to a terminal", () => {
    const { line, written, clock, show } = terminal(false);
    clock.now += 60_000;
    show(0.5);
    line.end();
    expect(written).toEqual([]);
  });
});
