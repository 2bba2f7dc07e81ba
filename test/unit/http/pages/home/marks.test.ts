import { expect, it } from "vitest";
import { pointsBar } from "../../../../../src/http/pages/home/marks.ts";

it("a bar of a chart that is too long for its space is drawn with a gap near its end", () => {
  expect(String(pointsBar(41.4))).not.toContain("gap");
  expect(String(pointsBar(50))).not.toContain("gap");
  expect(String(pointsBar(51.6))).toContain('<rect class="gap" x="92"');
  expect(String(pointsBar(-63))).toContain('<rect class="gap" x="5"');
});
