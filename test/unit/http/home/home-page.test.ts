import { describe, expect, it } from "vitest";
import { forMembers } from "../../../../src/http/home/home-page.ts";
import { textOf } from "../../../support/web.ts";
import { sites } from "../../wellknown/sites.ts";

const { ordinary, "for people only": closed } = sites;
const saidAt = (site: Parameters<typeof forMembers>[0]) => textOf(String(forMembers(site, "/")));

describe("what a reader without an account is told in the place of scores", () => {
  it("is that agents may ask by themselves, where they may", () => {
    expect(saidAt(ordinary)).toContain("Agents register themselves and ask");
    expect(saidAt({ ...ordinary, anonymousScopes: ["signals:read"] })).toContain("Agents register");
  });

  it.each([[closed], [{ ...ordinary, anonymousScopes: ["factor:read"] } as const]])(
    "is nothing of the kind where they may not see scores",
    (site) => {
      expect(saidAt(site)).toMatch(/for people who have an account, and for their agents\./);
      expect(saidAt(site)).not.toContain("Agents register");
    },
  );
});
