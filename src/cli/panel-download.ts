import { constants } from "node:fs";
import { type FileHandle, open, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { closingInstantRange } from "../answers/export-table.ts";
import { DAY_MS } from "../lib/day.ts";
import { parseJson } from "../lib/json.ts";
import { replaceFile } from "../lib/replace-file.ts";
import { readWholeBody } from "../outbound/whole-body.ts";
import { parsePanelPage } from "./panel-page.ts";
import { bearerHeaders, refusalText, requestWithRetries } from "./request-with-retries.ts";
import { readTextFile } from "./text-file.ts";

/**
 * Maximum size of a page, in bytes: a page has at most 50,000 rows or one session, and a row some
 * 300 bytes.
 */
const MAX_PAGE_BYTES = 64 * 1024 * 1024;

/** Maximum number of pages, each of which has at least one session: 27 years of days. */
const MAX_PAGES = 10_000;

/** State of an unfinished download, stored so that a later run of the command can continue it. */
const State = z.strictObject({
  /** URL of the first page, which identifies the download. */
  first: z.string(),
  /** URL of the page to continue with. */
  next: z.string(),
  /** Header line of the CSV file. */
  header: z.string().min(1),
  /** Size of the downloaded pages, in bytes. */
  bytes: z.int().positive(),
  rows: z.int().min(0),
});
type State = z.infer<typeof State>;

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
  /** Called with the size of each page, in bytes; throws to end the download. */
  readonly onBytes: (bytes: number) => void;
  /** Called after each page with the number of rows so far and the newest row. */
  readonly onPage: (rows: number, newest: string) => void;
}

/**
 * Downloads all pages of a panel into one CSV file; continues an interrupted download.
 *
 * @returns The number of rows.
 * @throws {Error} If the service rejects a request, a response ends prematurely or has no end, or
 * the file belongs to another download.
 */
export async function downloadPanel({
  url,
  token,
  file,
  onBytes,
  onPage,
}: PanelDownload): Promise<number> {
  const stateFile = `${file}.state`;
  let state = await resumed(stateFile, { file, url });
  for (let pages = 0; ; pages++) {
    if (pages === MAX_PAGES) throw new Error(`${url.origin} has more pages than any panel.`);
    const { header, rows, next } = await fetchPage(new URL(state.next), token);
    if (state.header !== "" && state.header !== header) {
      throw new Error(`The columns are not those of ${file}: delete it, and export again.`);
    }
    const lines = state.header === "" ? [header, ...rows] : rows;
    const page = Buffer.from(lines.join(""));
    onBytes(page.length);
    await onFile(file, (handle) => handle.appendFile(page));
    const count = state.rows + rows.length;
    onPage(count, rows.at(-1) ?? "");
    // A finished download has no state, so that nothing passes as finished that was not downloaded.
    if (next === null) {
      await rm(stateFile, { force: true });
      return count;
    }
    state = { ...state, header, next, bytes: state.bytes + page.length, rows: count };
    const text = JSON.stringify(state);
    await replaceFile(stateFile, (handle) => handle.writeFile(text));
  }
}

/**
 * The state of an interrupted download, or the initial state of a new one.
 *
 * @throws {Error} If the files are of another download, or of none: somebody else may have put them
 * there.
 */
async function resumed(
  stateFile: string,
  { file, url: { href } }: Pick<PanelDownload, "file" | "url">,
): Promise<State> {
  const text = await readTextFile(stateFile, false);
  if (text === undefined) {
    // What is there may be a link, which nothing is written through.
    await rm(file, { force: true });
    await writeFile(file, "", { flag: "wx" });
    return { first: href, next: href, header: "", bytes: 0, rows: 0 };
  }
  const state = State.safeParse(parseJson(text)).data;
  if (state === undefined) {
    throw new Error(`${stateFile} is no state of an export: delete it, and export again.`);
  }
  if (state.first !== href || !isPageOf(state.next, href)) {
    throw new Error(`${file} is of another export: finish that, or delete it and ${stateFile}.`);
  }
  await onFile(file, async (handle) => {
    const found = await handle.stat();
    if (!found.isFile() || found.size < state.bytes) {
      throw new Error(`${file} is not what ${stateFile} tells of: delete both, and export again.`);
    }
    // Cut off a page that may have been written only in part.
    await handle.truncate(state.bytes);
  });
  return state;
}

/** Opens a file to append to it, without following a link or waiting for the end of a pipe. */
const APPEND =
  constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

async function onFile(file: string, change: (handle: FileHandle) => Promise<void>): Promise<void> {
  const handle = await open(file, APPEND);
  await change(handle).finally(() => handle.close());
}

/** Whether a URL differs from that of the first page only in its cursor. */
const isPageOf = (page: string, first: string): boolean =>
  URL.canParse(page) && withoutCursor(page) === withoutCursor(first);

function withoutCursor(href: string): string {
  const url = new URL(href);
  url.searchParams.delete("cursor");
  return url.href;
}

async function fetchPage(url: URL, token: string | undefined) {
  const response = await requestWithRetries(url, bearerHeaders(token));
  if (!response.ok) throw new Error(await refusalText(response, url));
  if (!/^text\/csv\b/i.test(response.headers.get("content-type") ?? "")) {
    throw new Error(`${url.origin} does not answer CSV: give the address of the service itself.`);
  }
  const body = await readWholeBody(response.body ?? [], MAX_PAGE_BYTES).catch((cause) => {
    throw new Error(
      `${url.origin} broke off, or answers a page of more than ${MAX_PAGE_BYTES} bytes: run the command again to continue.`,
      { cause },
    );
  });
  const { header, rows, closes } = pageIn(String(body), url);
  const next = nextPage(response.headers.get("link"), url);
  if (next !== null && rows.length === 0) {
    throw new Error(`${url.origin} names a next page after one without rows.`);
  }
  const [after, until] = [cursorOf(url), next === null ? latestOf(url) : cursorOf(new URL(next))];
  if (!closes.every((close) => close > after && close <= until)) {
    throw new Error(`${url.origin} answers rows that are not of the sessions of their page.`);
  }
  return { header, rows, next };
}

function pageIn(text: string, { origin }: URL): ReturnType<typeof parsePanelPage> {
  try {
    return parsePanelPage(text);
  } catch (error) {
    throw new Error(`${origin} ${(error as Error).message}.`);
  }
}

/**
 * The URL of the next page. Only the cursor is taken from the service, so that the token goes to no
 * other address; each cursor must be later than the one before, and not later than now or the end
 * of the range, so that the pages end.
 *
 * @throws {Error} If the service names another address, or a cursor that is not later.
 */
function nextPage(link: string | null, url: URL): string | null {
  const target = /^<(.+)>; rel="next"$/.exec(link ?? "")?.[1];
  if (target === undefined) return null;
  const named = URL.parse(target, url.href);
  if (named?.origin !== url.origin || named.pathname !== url.pathname) {
    throw new Error(`${url.origin} names a next page at another address, which is not asked.`);
  }
  const cursor = Date.parse(named.searchParams.get("cursor") ?? "");
  if (!(cursor > cursorOf(url))) {
    throw new Error(`${url.origin} names a next page that is not later than this one.`);
  }
  if (cursor > latestOf(url)) {
    throw new Error(`${url.origin} names a next page after the end of the panel.`);
  }
  const next = new URL(url);
  next.searchParams.set("cursor", new Date(cursor).toISOString());
  return next.href;
}

/** Earlier than the cursor of any page. */
const EARLIEST = "1900-01-01";

/** The instant that all rows of a page are after, Unix milliseconds. */
const cursorOf = ({ searchParams }: URL): number =>
  Date.parse(searchParams.get("cursor") ?? EARLIEST);

/** The latest close that a panel can have, Unix milliseconds; a day more, as clocks differ. */
function latestOf({ searchParams }: URL): number {
  const { to } = closingInstantRange({ to: searchParams.get("to") ?? undefined });
  const now = Date.now() + DAY_MS;
  return to === undefined ? now : Math.min(now, Date.parse(to));
}
