import { hash } from "node:crypto";
import type { z } from "zod";
import type { Call, Tool, ToolContext } from "../../tool.ts";
import { createAnswerMemory } from "./answer-cache.ts";
import { parse } from "./parse.ts";

/** What a tool answered. */
export interface Answer {
  /** Shared by all who ask the same: not to be changed. */
  readonly value: object;
  /** `value` as JSON. */
  readonly json: string;
  /** A strong validator of `json` (RFC 9110 section 8.8.3); absent where each caller has an answer of
   *  their own. */
  readonly etag: string | undefined;
}

/** Answers tools on every surface. */
export interface Answers {
  /**
   * @param input As the caller gave it. One that is frozen, with all that is in it, is looked at once.
   * @throws {Problem} `invalid_request`, and what the tool throws.
   */
  of(tool: Tool, input: unknown, call: Call): Promise<Answer>;
}

/** What a tool that many share is asked. */
interface Question {
  readonly tool: Tool;
  readonly query: z.output<Tool["input"]>;
  /** The same for all that mean the same. */
  readonly name: string;
}

/** Runs tools and renders what they say; what many share, once as long as it stays the same. */
export function createAnswers(context: ToolContext): Answers {
  const memory = createAnswerMemory(context);
  const questionOf = createQuestions();
  return {
    async of(tool, input, call) {
      if (tool.isShared === undefined) {
        const value = await tool.run(parse(tool.input, input ?? {}), context, call);
        return { value, json: JSON.stringify(value), etag: undefined };
      }
      const { query, name } = questionOf(tool, input ?? {});
      const answer = async () => answerOf(await tool.run(query, context, call));
      return memory.find(name) ?? memory.keep(name, answer);
    },
  };
}

/** Finds out what is asked, and remembers it for inputs that cannot change. */
function createQuestions(): (tool: Tool, input: object) => Question {
  const known = new WeakMap<object, Question>();
  return (tool, input) => {
    const before = known.get(input);
    if (before?.tool === tool) return before;
    const query = parse(tool.input, input);
    // Members stand in the order of the schema then, with defaults in their places.
    const question = { tool, query, name: `${tool.name} ${JSON.stringify(query)}` };
    if (Object.isFrozen(input)) known.set(input, question);
    return question;
  };
}

/** The answer that many share. */
export function answerOf(value: object): Answer {
  const json = JSON.stringify(value);
  return { value, json, etag: `"${hash("sha256", json, "base64url")}"` };
}
