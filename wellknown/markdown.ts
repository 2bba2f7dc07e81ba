import { tools } from "../tools/index.ts";

/** A fenced code block. */
export const fencedBlock = (language: string, text: string): string =>
  `\`\`\`${language}\n${text}\n\`\`\``;

/** Shell commands as a fenced code block. */
export const shellBlock = (commands: string): string => fencedBlock("sh", commands);

/** A Markdown table; cells must not contain a vertical bar. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A Markdown table of the tools that `isWanted` selects. */
export function toolTable(isWanted: (tool: (typeof tools)[number]) => boolean): string {
  const rows = tools
    .filter(isWanted)
    .map(({ name, scopes, routes, description }) => [
      `\`${name}\``,
      routes.map(({ method, path }) => `\`${method} ${path}\``).join("<br>"),
      scopes.map((scope) => `\`${scope}\``).join(" "),
      description,
    ]);
  return markdownTable(["Tool", "REST", "Scope", "What it does"], rows);
}

/** Sentence that explains the variables in a document's commands. */
export const COMMAND_VARIABLES_NOTE =
  "In commands, a variable such as `$CLIENT_ID` is the member `client_id` of an earlier response; of a list, that of its first item.";
