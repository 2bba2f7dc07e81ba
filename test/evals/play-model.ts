import { converse, type ModelAddress } from "./models.ts";
import type { Result, Round } from "./round.ts";

/** Link that a player passes on to the person. */
const CLAIM_PAGE = "/claim?agent=";

/**
 * Lets a model play a task. A text without calls is its answer, unless it passes on a claim page, which
 * the person then opens.
 *
 * @param maxTurns Turns after which a task ends without an answer.
 * @throws {Error} When the model's address fails.
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
