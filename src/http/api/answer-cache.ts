import { LRUCache } from "lru-cache";
import type { ToolContext } from "../../tool.ts";
import type { Answer } from "./answers.ts";

/** What remembered answers take in memory at most, in bytes. */
const MAX_BYTES = 32 * 1024 * 1024;

/** An answer takes so many bytes for each character of its JSON, as a text and as an object: measured
 *  are 1.9 to 2.7, and a text beyond Latin-1 takes one more. */
const BYTES_PER_CHARACTER = 6;

/** What an entry takes besides, in bytes. */
const BYTES_PER_ENTRY = 400;

/** Remembers answers that rest on their question and the market alone. */
export interface AnswerMemory {
  /** What was answered to a question as long as the same would be answered again. */
  find(question: string): Answer | undefined;
  /** Answers a question and remembers that. When it is refused, nothing is remembered. */
  keep(question: string, answer: () => Answer | Promise<Answer>): Promise<Answer>;
}

/**
 * Creates a memory that never tells anything but what would be answered anew. Between two editions of
 * the snapshots only the passing of time can change an answer, and it does so in two ways: a
 * snapshot that is of a later instant comes into view, or a time that was asked for is no longer yet
 * to come. So what is answered while no snapshot is of a later instant stays true until the next
 * edition, or until the clock is set back.
 */
export function createAnswerMemory({ market, snapshots }: ToolContext): AnswerMemory {
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
