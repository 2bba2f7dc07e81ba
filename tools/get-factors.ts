import { z } from "zod";
import { DetailInput, SymbolInput } from "../src/answers/shared-members.ts";
import { briefFactorsAnswer, FactorsAnswer, fullFactorsAnswer } from "../src/tool/factors.ts";
import { resolveInstrument, snapshotAt } from "../src/tool/lookup.ts";
import { defineTool } from "../src/tool/tool.ts";
import { DayOrInstantInput, requestedDayMember } from "../src/tool/when.ts";

/** The tool that returns the four factors behind a score with all their figures. */
export const getFactors = defineTool({
  name: "get_factors",
  title: "Get factors",
  description:
    "The evidence behind one score: momentum, valuation, social and dark pool factors, each with its inputs, confidence, contribution in points and, when it is missing, the reason. One symbol a call; for its points alone use get_signal.",
  scopes: ["factor:read"],
  routes: [{ method: "GET", path: "/api/factors" }],
  isShared: true,
  input: z.strictObject({
    symbol: SymbolInput,
    detail: DetailInput,
    asOf: DayOrInstantInput.optional().describe(
      "The past: an instant or a date, at most 30 sessions back.",
    ),
    include: z.literal("candidates").optional().describe("Adds candidate methods."),
  }),
  output: FactorsAnswer,

  run({ symbol, detail, asOf, include }, context) {
    const snapshot = snapshotAt(resolveInstrument(symbol, context), asOf, context);
    const answer = detail === "full" ? fullFactorsAnswer : briefFactorsAnswer;
    return { ...requestedDayMember(asOf), ...answer(snapshot, context, include) };
  },
});
