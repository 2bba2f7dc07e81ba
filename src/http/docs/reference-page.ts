import { scopeDescriptions } from "../../access/scopes.ts";
import { OPENAPI_MEDIA_TYPE, paths } from "../../lib/paths.ts";
import { type Html, html } from "../../markup/html.ts";
import { copyButton } from "../pages/copy.ts";
import type { Page } from "../pages/layout.ts";
import { ACCOUNT_PATH } from "../pages/return-to.ts";
import {
  codeSamplesOf,
  sampleRequest,
  TOKEN_VARIABLE,
  withCoveredSymbols,
} from "./code-samples.ts";
import {
  type ApiDescription,
  type DescribedBody,
  type DescribedFailure,
  type DescribedOperation,
  type DescribedResponse,
  eventsOf,
  operationsOf,
} from "./described.ts";
import { memberList, parameterList } from "./members.ts";
import { richLine, richText } from "./rich-text.ts";
import { groupBySection, type ReferenceSection } from "./sections.ts";

/** Path of the Markdown version, for clients that cannot set `Accept`. */
export const REFERENCE_MARKDOWN_PATH = `${paths.reference}.md`;

/** Redirect URI of the page's OAuth client. */
export const OAUTH_REDIRECT_PATH = `${paths.reference}/oauth2-redirect.html`;

/**
 * Operations without a form on the page: `authorize` navigates away, `stream_alert_events` never
 * ends, and `call_mcp` uses its own protocol.
 */
const NOT_TRIED = new Set(["authorize", "stream_alert_events", "call_mcp"]);

/**
 * The API reference, rendered from the OpenAPI description.
 *
 * @param symbols Symbols of the market for the code samples; empty if they are not public.
 */
export function referencePage(
  description: ApiDescription,
  assets: { readonly stylePath: string; readonly scriptPath: string },
  symbols: readonly string[],
): Page {
  const groups = groupBySection(operationsOf(description));
  return {
    heading: "API reference",
    place: "reference",
    isWide: true,
    description: "Every operation of this service, with code in curl, TypeScript and Python.",
    scriptPath: assets.scriptPath,
    head: html`<link rel="stylesheet" href="${assets.stylePath}">
<link rel="service-desc" type="${OPENAPI_MEDIA_TYPE}" href="${paths.openapi}">
<link rel="alternate" type="text/markdown" href="${REFERENCE_MARKDOWN_PATH}">
`,
    body: html`<p class="lead">Every operation of version ${description.info.version}, with code that runs as it stands${symbols.length === 0 && " once SYMBOL is one that you may see"}. Also as <a href="${REFERENCE_MARKDOWN_PATH}">Markdown</a> and as <a href="${paths.openapi}">OpenAPI 3.1</a>.</p>
<div class="reference" data-redirect="${OAUTH_REDIRECT_PATH}" data-scopes="${Object.keys(scopeDescriptions).join(" ")}">
${contents(groups)}
<div class="sections">
${start(description)}
${groups.map(([section, operations]) => sectionPart(section, operations, { description, symbols }))}
</div>
</div>
<p class="news" id="news" role="status"></p>`,
  };
}

/** What the operations are rendered from. */
interface Source {
  readonly description: ApiDescription;
  readonly symbols: readonly string[];
}

type Groups = ReturnType<typeof groupBySection>;

const contents = (groups: Groups): Html => html`<nav class="contents" aria-label="Sections">
<ul><li><a href="#start">Before you call</a></li>
${groups.map(
  ([{ id, title }, operations]) => html`<li><a href="#${id}">${title}</a>
<ul>${operations.map((one) => html`<li><a href="#${one.id}">${one.summary}</a></li>`)}</ul></li>`,
)}</ul>
</nav>`;

/**
 * Introduction to the operations, with the form for the credential that requests from this page
 * use.
 */
const start = ({ info }: ApiDescription): Html => html`<section id="start">
<h2>Before you call</h2>
${richText(info.description)}
<p>The code reads a token or an API key from the variable <code>${TOKEN_VARIABLE}</code>.</p>
<form class="card credential" id="credential" hidden>
<h3>Try it here</h3>
<p id="credential-hint">With a token or an API key, such as one from <a href="${ACCOUNT_PATH}">your account</a>, or signed in as yourself. This page forgets it when you leave.</p>
<div class="field"><label for="credential-text">Token or API key</label>
<input id="credential-text" type="password" autocomplete="off" spellcheck="false" aria-describedby="credential-hint"></div>
<div class="buttons"><button>Use it</button> <button type="button" class="second" id="sign-in">Sign in and allow this page</button></div>
<p id="credential-state" role="status">No credential yet.</p>
</form>
</section>`;

const sectionPart = (
  { id, title, about }: ReferenceSection,
  operations: readonly DescribedOperation[],
  source: Source,
): Html => html`<section id="${id}" class="group">
<h2>${title}</h2>
<p>${richLine(about)}</p>
${operations.map((one) => operationPart(one, source))}
${id === "alerts" && eventsPart(source.description)}
</section>`;

function operationPart(operation: DescribedOperation, source: Source): Html {
  const { description } = source;
  const { id, method, path, summary, parameters, body, answers, failures } = operation;
  const { schemas } = description.components;
  return html`<article id="${id}">
<h3><a href="#${id}">${summary}</a></h3>
<p class="endpoint"><span class="method">${method}</span> <code>${path}</code></p>
<div class="columns"><div>
${richText(operation.description)}
${parameters.length > 0 && html`<h4>Parameters</h4>${parameterList(parameters)}`}
${body && html`<h4>Body <code>${body.mediaType}</code></h4>${memberList(body.schema, schemas)}`}
${answersPart(answers, description)}
${failuresPart(failures)}
</div><div>
${codePart(operation, source)}
${exampleOf(id, answers)}
</div></div>
</article>`;
}

function answersPart(answers: readonly DescribedResponse[], { components }: ApiDescription): Html {
  return html`<h4>Answer</h4><ul class="members">${answers.map(
    ({ status, description, bodies }) =>
      html`<li><code>${status}</code> <span class="type">${bodies.map(({ mediaType }) => mediaType).join(", ")}</span>${richText(description)}${membersPart(bodies, components.schemas)}</li>`,
  )}</ul>`;
}

function membersPart(
  bodies: readonly DescribedBody[],
  schemas: ApiDescription["components"]["schemas"],
): Html | undefined {
  const list = memberList(bodies[0]?.schema, schemas);
  const table = bodies.find(({ mediaType }) => mediaType === "text/csv");
  return html`${list && html`<details><summary>Members</summary>${list}</details>`}${
    table &&
    html`<details><summary>Columns of CSV</summary>${richText(table.schema?.description ?? "")}</details>`
  }`;
}

function failuresPart(failures: readonly DescribedFailure[]): Html | false {
  return (
    failures.length > 0 &&
    html`<details><summary>Errors and what to do next</summary><ul class="members">${failures.map(
      ({ status, code, meaning, next }) =>
        html`<li><code>${status} ${code}</code><p>${richLine(meaning)}</p>${next && html`<p class="next">Next, for example: ${next}</p>`}</li>`,
    )}</ul></details>`
  );
}

/** Code samples, of which the first is expanded, and the form that sends the request. */
function codePart(operation: DescribedOperation, { description, symbols }: Source): Html {
  const { id, method } = operation;
  const baseUrl = description.servers[0]?.url ?? "";
  const request = withCoveredSymbols(sampleRequest(operation, baseUrl), symbols);
  return html`${codeSamplesOf(request).map(({ language, code }, at) => {
    const codeId = `${id}-${language}`;
    return html`<details class="sample" name="${id}-code"${at === 0 && html` open`}><summary>${language}</summary>
<div class="code-block"><pre tabindex="0" role="group" aria-label="${operation.summary} in ${language}"><code id="${codeId}">${code}</code></pre>${copyButton(codeId, `the code in ${language}`)}</div></details>
`;
  })}
${
  !NOT_TRIED.has(id) &&
  html`<form class="try" hidden data-method="${method}" data-type="${request.headers["content-type"]}">
<div class="field"><label for="${id}-url">Request</label>
<input id="${id}-url" spellcheck="false" autocomplete="off" value="${request.url.slice(baseUrl.length)}"></div>
${
  request.body !== undefined &&
  html`<div class="field"><label for="${id}-body">Body</label>
<textarea id="${id}-body" rows="${Math.min(12, request.body.split("\n").length + 1)}" spellcheck="false">
${request.body}</textarea></div>`
}
<button class="second">Send ${method}</button>
<output></output>
</form>`
}`;
}

function exampleOf(id: string, answers: readonly DescribedResponse[]): Html | undefined {
  const body = answers.flatMap(({ bodies }) => bodies).find(({ example }) => example !== undefined);
  return body && jsonPart(`${id}-answer`, "Example of an answer", body);
}

function jsonPart(id: string, title: string, { example }: DescribedBody): Html {
  const text = JSON.stringify(example?.value, undefined, 2);
  return html`<details class="sample"><summary>${title}</summary>
<div class="code-block"><pre tabindex="0" role="group" aria-label="${title}: ${id}"><code id="${id}">${text}</code></pre>${copyButton(id, "the example")}</div></details>`;
}

/** The events that a webhook receives. */
const eventsPart = (description: ApiDescription): Html => html`<article id="events">
<h3><a href="#events">Events that your webhook receives</a></h3>
<ul class="members">${eventsOf(description).map(
  ({ id, path, summary, description: words, body }) =>
    html`<li id="${id}"><code>${path}</code> ${summary}<div>${richText(words)}</div>${
      body?.example && jsonPart(`${id}-event`, `Example of ${path}`, body)
    }${memberDetails(body, description)}</li>`,
)}</ul>
</article>`;

function memberDetails(
  body: DescribedBody | undefined,
  { components }: ApiDescription,
): Html | undefined {
  const list = memberList(body?.schema, components.schemas);
  return list && html`<details><summary>Members</summary>${list}</details>`;
}

/**
 * The redirect target of the OAuth flow: it passes the authorization response to the reference
 * page, then closes its own window if the browser allows this.
 */
export const oauthRedirectPage = (scriptPath: string): Page => ({
  heading: "Back to the API reference",
  place: "reference",
  scriptPath,
  body: html`<p>The API reference has received the response. You can close this window.</p>`,
});
