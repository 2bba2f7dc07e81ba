import { type Operation, type Tag, tags } from "../../openapi/operation.ts";
import type { DocumentPlace } from "../../openapi/operations/documents.ts";
import { operationsWith } from "../../openapi/operations/operations.ts";
import { type Html, html } from "../pages/html.ts";

/** Every operation in a line, by group: what there is to read until the reference is there. */
export function operationSummary(documents: readonly DocumentPlace[]): Html {
  const groups = Object.groupBy(operationsWith(documents), ({ tag }) => tag);
  return html`${Object.keys(tags).map((tag) => section(tag as Tag, groups[tag as Tag] ?? []))}`;
}

const section = (tag: Tag, operations: readonly Operation[]): Html => html`<section>
<h2>${tag}</h2>
<p class="quiet">${tags[tag]}</p>
<ul class="operations">${operations.map(
  ({ method, path, summary }) =>
    html`<li><code>${method.toUpperCase()} ${path}</code> ${summary}</li>`,
)}</ul>
</section>
`;
