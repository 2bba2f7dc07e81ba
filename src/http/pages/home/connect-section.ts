import { paths } from "../../../../wellknown/paths.ts";
import type { Site } from "../../../../wellknown/site.ts";
import { type Html, html } from "../html.ts";
import { type Client, connect } from "./connect.ts";

/** How agents and their programs are connected. */
export function connectSection(site: Site): Html {
  const { baseUrl } = site;
  return html`<section aria-labelledby="connect" class="connect">
<h2 id="connect">Connect your agent</h2>
<p>Most clients need this address alone: they register themselves and send you to the sign-in page.</p>
<div class="address"><code id="address">${baseUrl}${paths.mcp}</code>${copyButton("address", "the address")}</div>
<div class="clients">${connect(site).map(clientPart)}</div>
</section>`;
}

function clientPart({ name, intro, code }: Client, index: number): Html {
  const id = `client-${index}`;
  return html`<details name="client">
<summary>${name}</summary>
<p>${intro}</p>
<div class="code-block"><pre><code id="${id}">${code}</code></pre>${copyButton(id, `the configuration of ${name}`)}</div>
</details>
`;
}

/** Brought to light by the script, where the browser lets it copy. */
const copyButton = (id: string, what: string): Html =>
  html`<button type="button" class="second copy" data-copy="${id}" aria-label="Copy ${what}" hidden>Copy</button>`;
