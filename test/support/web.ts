/** A form in a page. */
interface WebForm {
  /** Absolute URL to which the form is sent. */
  readonly action: string;
  /**
   * Fields that are sent if nothing is filled in: hidden fields, values, checked boxes and selected
   * options.
   */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** The page that a browser has reached. */
export interface WebPage {
  /** URL of the page, after redirects within the site. */
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** URL of another site that the page redirects to; it is not fetched. */
  readonly leavesFor: URL | undefined;
  readonly forms: readonly WebForm[];
  /** The form with this action path. @throws {Error} When there is none. */
  form(path: string): WebForm;
}

/** Values for the fields of a form: a list for several checkboxes, `undefined` to omit a field. */
type Filled = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A browser without JavaScript and with its own cookies. */
export interface Web {
  /** Opens a path or URL, and follows redirects within its site. */
  get(target: string | URL): Promise<WebPage>;

  /** Submits a form with the values from the page, except for the fields that are filled in. */
  submit(form: WebForm, filled?: Filled): Promise<WebPage>;

  /**
   * Signs in with an emailed code.
   *
   * @param codeOf Returns the code that was sent to the email address.
   * @param page A sign-in page to continue from; absent: opens `/sign-in`.
   * @returns The page that the browser reaches.
   */
  signIn(
    email: string,
    codeOf: (email: string) => string | Promise<string>,
    page?: WebPage,
  ): Promise<WebPage>;

  /** Cookie header for requests to a URL outside the browser. */
  cookie(target?: string | URL): string;
}

/** Maximum number of redirects to follow. */
const MAX_REDIRECTS = 10;

/**
 * Creates a browser.
 *
 * @param base Origin of the service.
 * @param from Address that a proxy in front of the service says the browser has.
 */
export function createWeb(base: string, from?: string): Web {
  const jar = createJar();

  async function ask(url: URL, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const cookie = jar.header(url);
    if (cookie !== "") headers.set("cookie", cookie);
    if (from !== undefined) headers.set("x-forwarded-for", from);
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) jar.keep(url, line);
    return response;
  }

  async function follow(start: URL, init?: RequestInit): Promise<WebPage> {
    let url = start;
    let response = await ask(url, init);
    for (let hops = 0; hops < MAX_REDIRECTS; hops++) {
      const location = response.headers.get("location");
      if (response.status < 300 || location === null) return pageOf(url, response, undefined);
      const next = new URL(location, url);
      if (next.origin !== url.origin) return pageOf(url, response, next);
      await response.body?.cancel();
      url = next;
      response = await ask(url);
    }
    throw new Error(`more than ${MAX_REDIRECTS} redirects, the last to ${url}`);
  }

  const web: Web = {
    get: (target) => follow(new URL(target, base)),
    submit(form, filled = {}) {
      const url = new URL(form.action);
      return follow(url, {
        method: "POST",
        headers: { origin: url.origin },
        body: fill(form, filled),
      });
    },
    async signIn(email, codeOf, page) {
      const start = page ?? (await web.get("/sign-in"));
      const asked = await web.submit(start.form("/sign-in"), { email });
      return web.submit(asked.form("/sign-in/code"), { code: await codeOf(email) });
    },
    cookie: (target = base) => jar.header(new URL(target, base)),
  };
  return web;
}

function fill(form: WebForm, filled: Filled): URLSearchParams {
  const kept = form.fields.filter(([name]) => !Object.hasOwn(filled, name));
  const added = Object.entries(filled).flatMap(([name, value = []]) =>
    [value].flat().map((one) => [name, one]),
  );
  return new URLSearchParams([...kept, ...added] as [string, string][]);
}

async function pageOf(url: URL, response: Response, leavesFor: URL | undefined): Promise<WebPage> {
  const html = await response.text();
  const forms = formsIn(html, url);
  return {
    url,
    status: response.status,
    headers: response.headers,
    html,
    leavesFor,
    forms,
    form(path) {
      const found = forms.find(({ action }) => new URL(action).pathname === path);
      if (found === undefined) {
        throw new Error(`no form for ${path} at ${url} (${response.status}): ${textOf(html)}`);
      }
      return found;
    },
  };
}

/** Tags of inline elements, which do not separate words. */
const INLINE = /<\/?(?:a|b|bdi|code|span|strong|time)(?:\s[^>]*)?>/g;

/** The text of a page without markup. */
export const textOf = (html: string): string =>
  decode(
    html
      .replace(/<head>.*?<\/head>/s, "")
      .replace(INLINE, "")
      .replace(/<[^>]*>/g, " "),
  )
    .replace(/\s+/g, " ")
    .trim();

/** The heading of a page. */
export const headingOf = (html: string): string => textOf(/<h1>(.*?)<\/h1>/s.exec(html)?.[1] ?? "");

/** The token that a page gives to the forms of its browser. */
export function formTokenOf({ forms }: WebPage): string {
  const [form] = forms;
  return form?.fields.find(([name]) => name === "form_token")?.[1] ?? "";
}

function formsIn(html: string, url: URL): readonly WebForm[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(
    ([, start = "", inside = ""]) => ({
      action: new URL(attributes(start).action ?? "", url).href,
      fields: [
        ...[...inside.matchAll(/<input\b([^>]*)>/g)].flatMap(([, text = ""]) => fieldOf(text)),
        ...[...inside.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gs)].flatMap(chosenIn),
      ],
    }),
  );
}

/** The submitted value of a select element: the selected option, or else the first one. */
function chosenIn([, start = "", inside = ""]: RegExpExecArray): readonly [string, string][] {
  const { name } = attributes(start);
  const options = [...inside.matchAll(/<option\b([^>]*)>/g)].map(([, text = ""]) =>
    attributes(text),
  );
  const chosen = options.find(({ selected }) => selected !== undefined) ?? options[0];
  return name === undefined || chosen?.value === undefined ? [] : [[name, chosen.value]];
}

function fieldOf(text: string): readonly [string, string][] {
  const { name, value, type, checked, disabled } = attributes(text);
  const isBox = type === "checkbox" || type === "radio";
  const isSent = name !== undefined && disabled === undefined && (!isBox || checked !== undefined);
  return isSent ? [[name, value ?? (isBox ? "on" : "")]] : [];
}

function attributes(text: string): Readonly<Record<string, string>> {
  const found = text.matchAll(/([a-z-]+)(?:="([^"]*)")?/g);
  return Object.fromEntries(Array.from(found, ([, name, value = ""]) => [name, decode(value)]));
}

const entities: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&amp;": "&",
};

const decode = (text: string): string =>
  text.replace(/&(?:lt|gt|quot|amp|#39);/g, (entity) => entities[entity] ?? entity);

interface Cookie {
  readonly host: string;
  readonly path: string;
  readonly name: string;
  readonly value: string;
}

/**
 * Creates a cookie jar, by host, path and name (RFC 6265 section 5.3). Expiry in the future is
 * ignored, because tests are short.
 */
function createJar() {
  const cookies = new Map<string, Cookie>();
  return {
    keep({ hostname, pathname }: URL, line: string): void {
      const [pair = "", ...rest] = line.split(";").map((part) => part.trim());
      const split = pair.indexOf("=");
      const [name, value] = [pair.slice(0, split), pair.slice(split + 1)];
      const told = new Map(rest.map((part) => entryOf(part)));
      const path = told.get("path") ?? (pathname.replace(/\/[^/]*$/, "") || "/");
      const key = `${hostname} ${path} ${name}`;
      const maxAge = Number(told.get("max-age") ?? Number.POSITIVE_INFINITY);
      const ends = Date.parse(told.get("expires") ?? "");
      if (maxAge <= 0 || ends <= 1000) cookies.delete(key);
      else cookies.set(key, { host: hostname, path, name, value });
    },
    header: ({ hostname, pathname }: URL): string =>
      [...cookies.values()]
        .filter(({ host, path }) => host === hostname && covers(path, pathname))
        .map(({ name, value }) => `${name}=${value}`)
        .join("; "),
  };
}

function entryOf(part: string): readonly [string, string] {
  const [name = "", value = ""] = part.split("=");
  return [name.toLowerCase(), value];
}

const covers = (path: string, pathname: string): boolean =>
  pathname === path || pathname.startsWith(path.endsWith("/") ? path : `${path}/`);
