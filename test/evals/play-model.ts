import { converse, type ModelAddress } from "./models.ts";
import type { Result, Round } from "./round.ts";

/** Part of a claim link, which a player passes on to the person. */
const CLAIM_PAGE = "/claim?agent=";

/**
 * Lets a model play a task. A text without tool calls is its answer, unless the text contains a
 * claim link, which the person then opens.
 *
 * @param maxTurns Number of turns after which a task ends without an answer.
 * @throws {Error} When a request to the model fails.
 */
export async function playModel(
  address: ModelAddress,
  round: Round,
  maxTurns: number,
): Promise<void> {
  const conversation = converse(address, round.question, await round.tools());
  for (let turn = 0; turn < maxTurns; turn++) {
    const { text, calls } = await conversation.next();
    if (calls.length === 0) {
      if (!text.includes(CLAIM_PAGE)) return round.answer(text);
      conversation.say(await round.tell(text));
      continue;
    }
    const results: Result[] = [];
    for (const { tool, given } of calls) results.push(await round.call(tool, given));
    conversation.give(results);
  }
}
