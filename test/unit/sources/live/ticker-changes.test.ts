import { describe, expect, it } from "vitest";
import { currentTicker } from "../../../../src/sources/live/ticker-changes.ts";

describe("a ticker symbol and a date", () => {
  it("are mapped to the security's current ticker", () => {
    expect(currentTicker("FB", "2022-06-08")).toBe("META");
    expect(currentTicker("PCLN", "2015-01-02")).toBe("BKNG");
  });

  it("are left unchanged from the first session of the new ticker onward", () => {
    expect(currentTicker("FB", "2022-06-09")).toBe("FB");
    expect(currentTicker("META", "2022-06-09")).toBe("META");
  });

  it("identify no tracked instrument while the ticker belonged to another company", () => {
    expect(currentTicker("META", "2022-06-08")).toBeUndefined();
    expect(currentTicker("DOC", "2020-01-02")).toBeUndefined();
  });

  it("are mapped through several successive changes", () => {
    expect(currentTicker("HCP", "2015-01-02")).toBe("DOC");
    expect(currentTicker("CBS", "2019-01-02")).toBe("PSKY");
    expect(currentTicker("VIAC", "2020-01-02")).toBe("PSKY");
    expect(currentTicker("VIAC", "2019-01-02")).toBeUndefined();
  });

  it("are left unchanged after another company has taken over the ticker", () => {
    expect(currentTicker("HCP", "2023-01-03")).toBe("HCP");
  });

  it("are mapped correctly when a ticker returned to its former company", () => {
    expect(currentTicker("FISV", "2020-01-02")).toBe("FISV");
    expect(currentTicker("FI", "2024-01-02")).toBe("FISV");
    expect(currentTicker("FISV", "2024-01-02")).toBeUndefined();
    expect(currentTicker("FI", "2020-01-02")).toBeUndefined();
  });

  it("are mapped to the right class of shares", () => {
    expect(currentTicker("GOOG", "2014-04-02")).toBe("GOOGL");
    expect(currentTicker("GOOG", "2014-04-03")).toBe("GOOG");
  });

  it("are left unchanged when no ticker change is known", () => {
    expect(currentTicker("AAPL", "1999-01-04")).toBe("AAPL");
    expect(currentTicker("BRK-B", "1999-01-04")).toBe("BRK-B");
  });
});
