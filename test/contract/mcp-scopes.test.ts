import { describe, expect, it } from "vitest";
import { newToken } from "../support/agent.ts";
import type { ScopeNames } from "../support/matrix-policies.ts";
import { sendCall, type ToolCall, ways } from "../support/mcp-usual.ts";
import { startTestService } from "../support/test-service.ts";

/** A request, with the scopes that it requires. */
interface Asked extends Pick<ToolCall, "method" | "params"> {
  readonly needs: ScopeNames;
}

const asked: readonly Asked[] = [
  ...(["get_signal", "find_instruments"] as const).map((name) => ({
    params: { name, arguments: { symbol: "ALDER.SIM" } },
    needs: "signals:read" as const,
  })),
  { params: named("get_factors"), needs: "factor:read" },
  { params: named("get_darkpool"), needs: "darkpool:read" },
  { params: named("register_alert"), needs: "alerts:write signals:read" },
  { params: { name: "list_alerts" }, needs: "signals:read" },
  {
    method: "resources/read",
    params: { uri: "market://signals/ALDER.SIM" },
    needs: "signals:read",
  },
  { method: "prompts/get", params: named("check_a_signal"), needs: "signals:read" },
];

function named(name: string) {
  return { name, arguments: { symbol: "ALDER.SIM" } };
}

const CALLS = 3_000;

describe("3,000 calls", { tags: ["full"] }, async () => {
  const { base, logged } = await startTestService();
  const read = ["signals:read", "factor:read", "darkpool:read"] as const;
  const tokenWith = (scopes: readonly string[]) => newToken(base, { scope: scopes.join(" ") });
  const all = await tokenWith(read);
  const without = new Map(
    await Promise.all(
      read.map(
        async (scope) => [scope, await tokenWith(read.filter((each) => each !== scope))] as const,
      ),
    ),
  );

  /** Cycles through all combinations of request and protocol variant. */
  const calls = Array.from({ length: CALLS }, (_, at) => {
    const { needs, ...question } = asked[at % asked.length] as Asked;
    const way = ways[Math.floor(at / asked.length) % ways.length] ?? "modern";
    return {
      token: without.get(needs as (typeof read)[number]) ?? all,
      needs,
      call: { ...question, way, id: at },
    };
  });

  it("are all rejected without the required scope, by a 403 challenge or a claim_required result, and get no data", async () => {
    const answers = await Promise.all(
      calls.map(async ({ token, needs, call }) => ({
        needs,
        ...(await sendCall(base, token, call)),
      })),
    );
    const isClaimAsked = ({ status, message: { result } }: (typeof answers)[number]) =>
      status === 200 &&
      result?.isError === true &&
      (result.structuredContent as { readonly code?: unknown }).code === "claim_required";
    const refused = answers.filter((answer) => {
      const { status, needs, headers, message } = answer;
      if (needs.includes("alerts:write")) return isClaimAsked(answer);
      return (
        status === 403 &&
        headers["www-authenticate"]?.includes(`error="insufficient_scope"`) &&
        headers["www-authenticate"].includes(`scope="${needs}"`) &&
        "code" in message &&
        !("result" in message)
      );
    });
    expect(refused).toHaveLength(CALLS);
    expect(answers.filter(({ body }) => /"score"|"items"|"contents"|ALDER/.test(body))).toEqual([]);
    expect(logged).toEqual([]);
  });

  it("succeed with the required scope if they only read (only the first 32 are checked)", async () => {
    const readable = calls.slice(0, 32).filter(({ needs }) => !needs.includes("alerts:write"));
    for (const { call } of readable) {
      const { status, headers } = await sendCall(base, all, call);
      expect(status).toBe(200);
      const isFast = call.way === "modern" || call.way === "legacy";
      expect(headers["transfer-encoding"]).toBe(isFast ? undefined : "chunked");
    }
  });
});
