import { describe, expect, it } from "vitest";
import { presentTicker } from "../../../../src/sources/live/ticker-changes.ts";

describe("a former ticker", () => {
  it("is mapped to the security's current ticker", () => {
    expect(presentTicker("FB", "2022-06-08")).toBe("META");
    expect(presentTicker("PCLN", "2015-01-02")).toBe("BKNG");
  });

  it("is used unchanged from the first session under the new one on", () => {
    expect(presentTicker("FB", "2022-06-09")).toBe("FB");
    expect(presentTicker("META", "2022-06-09")).toBe("META");
  });

  it("identifies no tracked instrument while it belonged to another company", () => {
    expect(presentTicker("META", "2022-06-08")).toBeUndefined();
    expect(presentTicker("DOC", "2020-01-02")).toBeUndefined();
  });

  it("is followed through several changes", () => {
    expect(presentTicker("HCP", "2015-01-02")).toBe("DOC");
    expect(presentTicker("CBS", "2019-01-02")).toBe("PSKY");
    expect(presentTicker("VIAC", "2020-01-02")).toBe("PSKY");
    expect(presentTicker("VIAC", "2019-01-02")).toBeUndefined();
  });

  it("may belong to another company today", () => {
    expect(presentTicker("HCP", "2023-01-03")).toBe("HCP");
  });

  it("may return to its former company", () => {
    expect(presentTicker("FISV", "2020-01-02")).toBe("FISV");
    expect(presentTicker("FI", "2024-01-02")).toBe("FISV");
    expect(presentTicker("FISV", "2024-01-02")).toBeUndefined();
    expect(presentTicker("FI", "2020-01-02")).toBeUndefined();
  });

  it("was another class of shares", () => {
    expect(presentTicker("GOOG", "2014-04-02")).toBe("GOOGL");
    expect(presentTicker("GOOG", "2014-04-03")).toBe("GOOG");
  });

  it("stays as it is when no change is known", () => {
    expect(presentTicker("AAPL", "1999-01-04")).toBe("AAPL");
    expect(presentTicker("BRK-B", "1999-01-04")).toBe("BRK-B");
  });
});
