import { Problem } from "../../problem.ts";
import type { Meters } from "../../telemetry/meters.ts";
import { traced } from "../../telemetry/traces.ts";
import type { Answers } from "./answers.ts";

/** Answers that are measured and traced, by tool and outcome. */
export function measuredAnswers(answers: Answers, meters: Pick<Meters, "toolCall">): Answers {
  return {
    ...answers,
    of(tool, input, call) {
      const { name } = tool;
      const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name };
      return traced({ name: `execute_tool ${name}`, attributes }, async () => {
        const startedAt = performance.now();
        const seconds = () => (performance.now() - startedAt) / 1_000;
        try {
          const answer = await answers.of(tool, input, call);
          meters.toolCall({ tool: name, outcome: "ok" }, seconds());
          return answer;
        } catch (error) {
          const outcome = error instanceof Problem ? error.code : "internal_error";
          meters.toolCall({ tool: name, outcome }, seconds());
          throw error;
        }
      });
    },
  };
}
