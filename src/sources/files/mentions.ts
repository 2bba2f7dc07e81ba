import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { compareByTimeAndId } from "../../market/point-in-time.ts";
import type { Mention } from "../../market/records.ts";
import type { TextFile } from "./csv-table.ts";
import {
  createUniquenessCheck,
  dataError,
  type FileLocation,
  quoted,
  unlessRefused,
} from "./data-error.ts";

/** Maximum number of characters of a message that are stored; the rest is cut off. */
const MAX_TEXT_CHARACTERS = 2_000;

const MessageLine = z.object({
  id: z.string().min(1),
  at: z.iso.datetime(),
  text: z.string(),
  symbols: z.array(z.string()),
  author: z.string().nullish(),
  followers: z.int().nonnegative().nullish(),
  stance: z.enum(["bullish", "bearish"]).nullish(),
});

/**
 * Reads messages, one JSON object per line, sorted by time and then by id. A message counts as
 * known when it was sent.
 *
 * @throws {Error} For a line that is not a JSON object of the documented form or repeats an id.
 */
export function readMentions({ path, content, onRefused }: TextFile): Mention[] {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const requireNew = createUniquenessCheck("message");
  const readNew = (line: string, place: FileLocation) => {
    const mention = readLine(line, place);
    requireNew(mention.id, place);
    return mention;
  };
  return lines
    .flatMap((line, index) => {
      const place = { file: path, line: index + 1 };
      return unlessRefused(() => readNew(line, place), onRefused) ?? [];
    })
    .sort(compareByTimeAndId);
}

function readLine(line: string, place: FileLocation): Mention {
  const json = parseJson(line);
  if (json === undefined) {
    throw dataError(place, `${quoted(line)} is not JSON`, "one JSON object a line");
  }
  const { success, data, error } = MessageLine.safeParse(json);
  if (!success) {
    const [issue] = error.issues;
    const member = issue?.path.join(".") || "the line";
    throw dataError(
      place,
      `${member} is not as it should be`,
      issue?.message ?? "expected a message",
    );
  }
  return {
    id: data.id.toWellFormed(),
    availableAt: Date.parse(data.at),
    // The cut may split a surrogate pair.
    text: data.text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed(),
    // A message without a name has no author. Unpaired surrogates are replaced, since they would
    // all hash to one author.
    author: data.author?.toWellFormed() || null,
    followers: data.followers ?? null,
    symbolCount: Math.max(1, new Set(data.symbols).size),
    stance: data.stance ?? null,
  };
}
