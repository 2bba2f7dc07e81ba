import { describe, expect, it } from "vitest";
import { safeReturnPath, withReturnPath } from "../../../../src/http/pages/return-to.ts";

describe("the return path after sign-in", () => {
  it.each([
    "/",
    "/market/BRK-B",
    "/account",
    "/claim",
    "/claim?agent=agt_WlaRQbDM3mvV1DuS-FPo1A",
    "/claim?agent=https%3A%2F%2Fagent.example%2Fid",
    "/claim?attempt=Zm9vYmFy_-",
    "/oauth/interaction/dXNZMvNzs_V7kzGxH4HPuvbRtUNwcYMAnrrGEkGqoqh",
  ])("is kept if it is %s", (place) => {
    expect(safeReturnPath(place)).toBe(place);
  });

  it.each([
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "\\/evil.example",
    "/market/..",
    "/market/a/b",
    "/account@evil.example",
    "/account/../sign-out",
    "/account?x=1",
    "/account#x",
    "/account/",
    "/account\n",
    "\n/account",
    "/claim?agent=a&attempt=b",
    "/claim?agent=",
    "/claim?agent=a\r\nSet-Cookie: x=y",
    "/claim?code=ABCD1234",
    "/claim/confirm",
    `/claim?agent=${"a".repeat(301)}`,
    "/oauth/interaction/",
    "/oauth/interaction/a/b",
    "/oauth/interaction/..",
    "/oauth/interaction/a?anew",
    "/oauth/authorize",
    "javascript:alert(1)",
    "",
    undefined,
    null,
    7,
    ["/claim"],
    { toString: () => "/claim" },
  ])("is replaced by the account page if it is %j", (place) => {
    expect(safeReturnPath(place)).toBe("/account");
  });

  it("is encoded as one query parameter", () => {
    const address = new URL(withReturnPath("/sign-in", "/claim?agent=a%26b"), "http://localhost");
    expect([...address.searchParams]).toEqual([["return_to", "/claim?agent=a%26b"]]);
  });
});
