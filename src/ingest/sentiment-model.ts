import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { MAX_MODEL_BYTES, parseModel } from "../messages/hashed-linear/file.ts";
import { messagePolarity } from "../messages/polarity.ts";

/**
 * Method that computes the polarity of messages: the lexicon, or the mean of lexicon and trained
 * model.
 */
export interface SentimentAnalyzer {
  readonly name: "lexicon" | "lexicon_and_model";
  /** SHA-256 of the file of the trained model; `null` without a model. */
  readonly modelSha256: string | null;
}

/** Reads the sentiment of messages. */
export interface SentimentReader {
  readonly analyser: SentimentAnalyzer;
  /** How bullish (1) or bearish (-1) a text is, in [-1, 1]. */
  readonly polarityOf: (text: string) => number;
}

/** Sentiment reader that uses the lexicon alone. */
export const LEXICON_SENTIMENT_READER: SentimentReader = {
  analyser: { name: "lexicon", modelSha256: null },
  polarityOf: (text) => messagePolarity(text),
};

/**
 * Opens the sentiment reader.
 *
 * @param file Absolute path of a trained model, whose polarity is averaged with the polarity by the
 * lexicon; `undefined` for the lexicon alone.
 * @throws {Error} If the file cannot be read or is not a model; the message contains the setting
 * and the file.
 */
export async function openSentimentReader(file: string | undefined): Promise<SentimentReader> {
  if (file === undefined) return LEXICON_SENTIMENT_READER;
  try {
    const bytes = await bytesOf(file);
    const model = parseModel(bytes.toString("utf8"));
    const modelSha256 = createHash("sha256").update(bytes).digest("hex");
    return {
      analyser: { name: "lexicon_and_model", modelSha256 },
      polarityOf: (text) => messagePolarity(text, model),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`SOCIAL_MODEL: ${file} cannot be used: ${reason}`, { cause: error });
  }
}

async function bytesOf(file: string): Promise<Buffer> {
  const found = await stat(file);
  if (!found.isFile()) throw new Error("it is no file");
  if (found.size > MAX_MODEL_BYTES) {
    throw new Error(`it has ${found.size} bytes, too many for a model`);
  }
  return readFile(file);
}
