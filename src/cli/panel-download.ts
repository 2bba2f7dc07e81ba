import { appendFile, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { bearerHeaders, requestWithRetries } from "./request-with-retries.ts";

/** State of a download, stored so that a later run of the command can continue it. */
interface State {
  /** URL of the first page, which identifies the download. */
  readonly first: string;
  /** URL of the page to continue with; `null` when all pages are downloaded. */
  readonly next: string | null;
  /** Header line of the CSV file; empty before the first page. */
  readonly header: string;
  /** Size of the downloaded pages, in bytes. */
  readonly bytes: number;
  readonly rows: number;
}

/** A panel to download from a service. */
interface PanelDownload {
  /** URL of the first page. */
  readonly url: URL;
  /** Access token or API key with `signals:read`. */
  readonly token: string | undefined;
  /**
   * The target file. While the download runs, the state needed to continue it is in a second file
   * in the same folder.
   */
  readonly file: string;
  /** Called after each page with the number of rows so far and the newest row. */
  readonly onPage: (rows: number, newest: string) => void;
}

/**
 * Downloads all pages of a panel into one CSV file; continues an interrupted download.
 *
 * @returns The number of rows.
 * @throws {Error} If the service rejects a request, a response ends prematurely, or the file
 * belongs to another download.
 */
export async function downloadPanel({ url, token, file, onPage }: PanelDownload): Promise<number> {
  const stateFile = `${file}.state`;
  let state = await resumed(stateFile, { file, url });
  while (state.next !== null) {
    const { header, rows, next } = await fetchPage(new URL(state.next), token);
    if (state.header !== "" && state.header !== header) {
      throw new Error(`The columns are not those of ${file}: delete it, and export again.`);
    }
    const lines = state.header === "" ? [header, ...rows] : rows;
    const page = lines.map((line) => `${line}\r\n`).join("");
    await appendFile(file, page);
    const bytes = state.bytes + Buffer.byteLength(page);
    state = { ...state, header, next, bytes, rows: state.rows + rows.length };
    await writeFile(`${stateFile}.new`, JSON.stringify(state));
    await rename(`${stateFile}.new`, stateFile);
    onPage(state.rows, rows.at(-1) ?? "");
  }
  await rm(stateFile, { force: true });
  return state.rows;
}

/** The state of an interrupted download, or the initial state of a new one. */
async function resumed(
  stateFile: string,
  { file, url: { href } }: Pick<PanelDownload, "file" | "url">,
): Promise<State> {
  const text = await readFile(stateFile, "utf8").catch(() => undefined);
  if (text === undefined) {
    await writeFile(file, "");
    return { first: href, next: href, header: "", bytes: 0, rows: 0 };
  }
  const state: State = JSON.parse(text);
  if (state.first !== href) {
    throw new Error(`${file} is of another export: finish that, or delete it and ${stateFile}.`);
  }
  // Cut off a page that may have been written only in part.
  await truncate(file, state.bytes);
  return state;
}

interface Page {
  readonly header: string;
  readonly rows: readonly string[];
  readonly next: string | null;
}

async function fetchPage(url: URL, token: string | undefined): Promise<Page> {
  const response = await requestWithRetries(url, bearerHeaders(token));
  if (!response.ok) throw new Error(`${url.origin}: ${await reasonOf(response)}`);
  const text = await response.text().catch((cause) => {
    throw new Error(`${url.origin} broke off: run the command again to continue.`, { cause });
  });
  const [header = "", ...rows] = text.split("\r\n").slice(0, -1);
  const next = /^<(.+)>; rel="next"$/.exec(response.headers.get("link") ?? "")?.[1];
  return { header, rows, next: next === undefined ? null : new URL(next, url).href };
}

/** The reason why a request was rejected, and the advice on what to do. */
async function reasonOf(response: Response): Promise<string> {
  const problem: unknown = await response.json().catch(() => undefined);
  const { detail = `it answers ${response.status}.`, next = "" } = (problem ?? {}) as Refusal;
  return `${detail} ${next}`.trim();
}

interface Refusal {
  readonly detail?: string;
  readonly next?: string;
}
