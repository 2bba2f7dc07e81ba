import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

/** A tool in a tools/list result. */
interface ListedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** Number of tokens of a text, in the encoding o200k. */
export const tokensOfText = (text: string): number => countTokens(text);

/** Number of tokens of a value as JSON, in the encoding o200k. */
export const tokensOf = (value: unknown): number => tokensOfText(JSON.stringify(value));

/**
 * Number of tokens of the tool list as clients show it to a model: name, description and input
 * schema. Models see neither output schemas nor `_meta`, which links tools to the app.
 */
export const visibleTokens = (tools: readonly ListedTool[]): number =>
  tokensOf(tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })));
