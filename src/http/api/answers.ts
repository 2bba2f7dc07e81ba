import { LRUCache } from "lru-cache";
import type { z } from "zod";
import { strongEtag } from "../../lib/etag.ts";
import { Problem } from "../../problem.ts";
import type { Meters } from "../../telemetry/meters.ts";
import { traced } from "../../telemetry/traces.ts";
import type { Call, Tool, ToolContext } from "../../tool.ts";
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
  const cache = createAnswerCache(context);
  const questionOf = createQuestions();
  return {
    async of(tool, input, call) {
      if (tool.isShared === undefined) {
        const value = await tool.run(parse(tool.input, input ?? {}), context, call);
        return { value, json: JSON.stringify(value), etag: undefined };
      }
      const { query, name } = questionOf(tool, input ?? {});
      const answer = async () => answerOf(await tool.run(query, context, call));
      return cache.find(name) ?? cache.keep(name, answer);
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
  return { value, json, etag: strongEtag(json) };
}

/** What remembered answers take in memory at most, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** An answer takes so many bytes for each character of its JSON, as a text and as an object: measured
 *  are 1.9 to 2.7, and a text beyond Latin-1 takes one more. */
const BYTES_PER_CHARACTER = 6;

/** What an entry takes besides, in bytes. */
const BYTES_PER_ENTRY = 400;

/** Keeps answers that depend on their question and the market alone. */
export interface AnswerCache {
  /** What was answered to a question as long as the same would be answered again. */
  find(question: string): Answer | undefined;
  /** Answers a question and remembers that. When it is refused, nothing is remembered. */
  keep(question: string, answer: () => Answer | Promise<Answer>): Promise<Answer>;
}

/**
 * Creates a cache that never answers anything but what a new run would. Between two editions of
 * the snapshots only the passing of time can change an answer, and it does so in two ways: a
 * snapshot that is of a later instant comes into view, or a time that was asked for is no longer yet
 * to come. So what is answered while no snapshot is of a later instant stays true until the next
 * edition, or until the clock is set back.
 */
export function createAnswerCache({ market, snapshots }: ToolContext): AnswerCache {
  const answers = new LRUCache<string, Answer>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ json }, question) =>
      BYTES_PER_ENTRY + BYTES_PER_CHARACTER * (question.length + json.length),
  });
  /** Of the edition that the answers are from, and the latest instant at which one was given. */
  let known = { edition: snapshots.edition(), at: Number.NEGATIVE_INFINITY };
  const keepUp = (edition: number, at: number): void => {
    if (known.edition === edition && known.at <= at) return;
    answers.clear();
    known = { edition, at: Number.NEGATIVE_INFINITY };
  };
  return {
    find(question) {
      keepUp(snapshots.edition(), market.now());
      return answers.get(question);
    },
    async keep(question, make) {
      const [edition, at] = [snapshots.edition(), market.now()];
      const isStanding = snapshots.latestAt() <= at;
      const answer = await make();
      if (!isStanding || snapshots.edition() !== edition) return answer;
      keepUp(edition, at);
      known = { edition, at };
      answers.set(question, answer);
      return answer;
    },
  };
}

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
