import type { Instrument } from "../../market/instrument.ts";
import { newYorkDates } from "../../market/new-york.ts";
import { coinsNamedIn } from "./coin-names.ts";
import { coinOf } from "./provider-symbols.ts";
import { currentTicker } from "./ticker-changes.ts";

/** Characters of a text that are searched, before and after they are normalized. */
const MAX_CHARACTERS = 2_000;

/** Invisible characters; they could split or hide a ticker. */
const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}\p{Variation_Selector}]/gu;

/** Characters that never touch a ticker: letters, other currency signs, and the masks of swear
 *  words as in `S%$T`. */
const JOINED = String.raw`[\p{L}\p{N}\p{M}\p{Sc}_@#%^&*~=]`;

/** A ticker, with an optional suffix for a share class, a coin, a pair or another exchange. */
const TICKER = `([A-Za-z]{1,10})(?:[./-](USD|usd|[A-Za-z]{1,2})(?!${JOINED}))?(?!${JOINED})`;

/** `$AAPL`, `$BRK.B`, `$BTC.X`, `$T.TO`; not `US$AAPL`, `$5B`, `$ES_F`, `$SPYhttp`, `BE€$T`. */
const CASHTAG = new RegExp(String.raw`(?<!${JOINED}|!)\$${TICKER}`, "gu");

/** `NYSE`, `NYSE Arca`, `NYSEARCA`, `Nasdaq GS`, `OTCQX`. */
const EXCHANGE = "(?:NYSE|NASDAQ|Nasdaq|CBOE|Cboe|AMEX|OTC)[A-Za-z]{0,10}(?: [A-Za-z]{1,10}){0,2}";

/** A company as press releases name it: `(NYSE: T)`, `(NASDAQ:AAPL)`, `(NYSE: T; NASDAQ: AAPL)`. */
const LISTING = new RegExp(String.raw`(?<=[([;,]\s?)${EXCHANGE}: ?${TICKER}(?= ?[)\];,])`, "gu");

/** A ticker at the end of a text that was cut may be the beginning of another. */
const CUT_OFF = /\$[A-Za-z]{1,10}…/gu;

/** Shell variables and currency codes, which are also written with a dollar sign. */
const NO_TICKERS = new Set(["PATH", "HOME", "USER", "SHELL", "CASH", "USD", "EUR", "CAD", "AUD"]);

/**
 * Lower-case words that are not tickers after a dollar sign: there it may stand for an S, or mark a
 * variable of a program. Tickers of one and two letters are read in capitals only.
 */
const NO_SMALL_TICKERS = new Set(
  "ale app car cat data eat elf hit hop ink key kin lab low now oil pay pin post pot tap tar team ten top way well".split(
    " ",
  ),
);

/**
 * Tickers that mean the coin when they stand alone after a dollar sign, although funds have some of
 * them, too. Any other coin's ticker may mean a listed company: `$LTC` is LTC Properties as well,
 * `$STX` Seagate, `$NEAR` a bond fund, and new ones are listed every day.
 */
const COINS_BY_TICKER = new Set("ADA AVAX BNB BTC DOGE DOT ETH SHIB SOL XLM XMR XRP".split(" "));

/** The instruments that a text names. */
interface Named {
  /** Symbols of the universe in the order of the text. */
  readonly symbols: readonly string[];
  /** Number of instruments that it names, in the universe or not. */
  readonly count: number;
}

/**
 * Makes a reader that finds the instruments that a text names beyond doubt: by a cashtag, by
 * exchange and ticker in brackets, coins by name as well. A ticker alone never counts, since too
 * many are words: IT, ALL, NOW, DTE, YOU, V. Its running time grows with the length of the text, of
 * which it reads at most 2,000 characters.
 *
 * @returns A function of the text and of when it was written, Unix milliseconds: tickers are read
 *   as they were on that day.
 */
export function createCashtagReader(
  instruments: readonly Instrument[],
): (text: string, writtenAt: number) => Named {
  const byTicker = symbolsByTicker(instruments);
  const byListing = new Set(
    instruments.filter(({ assetClass }) => assetClass !== "crypto").map(({ symbol }) => symbol),
  );
  const dayOf = newYorkDates();
  return (text, writtenAt) => {
    const plain = visible(text);
    const all = namesIn(plain);
    if (all.length === 0) return { symbols: [], count: 0 };
    const day = dayOf(writtenAt);
    const named = all.map(({ ticker, isListing }) => {
      const present = currentTicker(ticker, day) ?? "";
      const listed = byListing.has(present) ? present : undefined;
      const symbol = isListing ? listed : byTicker.get(present);
      return { symbol, name: symbol ?? ticker.replace(/-(?:USD|X)$/, "") };
    });
    const found = new Set(named.flatMap(({ symbol }) => symbol ?? []));
    return {
      symbols: [...found],
      count: new Set(named.map(({ name }) => name)).size,
    };
  };
}

/** One spelling of each character; cut again because NFKC can lengthen a text 18 times. */
function visible(text: string): string {
  const cut = text.slice(0, MAX_CHARACTERS).replace(INVISIBLE, "").replace(CUT_OFF, "");
  return cut.normalize("NFKC").slice(0, MAX_CHARACTERS);
}

/** One name in a text. */
interface Name {
  /** The ticker as the universe spells it: `AAPL`, `BRK-B`, `BTC-USD`, `BTC-X`. */
  readonly ticker: string;
  /** What is listed on an exchange is a company or a fund, never a coin: `(NYSE Arca: BTC)`. */
  readonly isListing: boolean;
}

function namesIn(text: string): readonly Name[] {
  const cashtags = [...text.matchAll(CASHTAG)].filter(([, ticker = ""]) => isTicker(ticker));
  const listed = new Set(Array.from(text.matchAll(LISTING), spelled));
  // Names of some coins are tickers of funds as well: BTC, XRP.
  const coins = coinsNamedIn(text.replace(LISTING, " "));
  return [
    // A ticker listed in brackets is a listing in the whole text: `Emeren (NYSE: SOL), $SOL`.
    ...cashtags.map(spelled).map((ticker) => ({ ticker, isListing: listed.has(ticker) })),
    ...[...listed].map((ticker) => ({ ticker, isListing: true })),
    ...coins.map((coin) => ({ ticker: `${coin}-USD`, isListing: false })),
  ];
}

const spelled = ([, ticker, suffix]: RegExpExecArray): string =>
  [ticker, suffix].filter(Boolean).join("-").toUpperCase();

/** Whether text after a dollar sign is a ticker. A capitalized text is a word, `$Oil`, or a name,
 *  `$Ford`. */
function isTicker(ticker: string): boolean {
  if (NO_TICKERS.has(ticker.toUpperCase())) return false;
  if (ticker === ticker.toUpperCase()) return true;
  const isSmall = ticker === ticker.toLowerCase();
  return isSmall && ticker.length >= 3 && !NO_SMALL_TICKERS.has(ticker);
}

/** Symbols by their cashtags; a cashtag that two symbols share names neither. */
function symbolsByTicker(instruments: readonly Instrument[]): ReadonlyMap<string, string> {
  const symbols = new Map<string, string>();
  const taken = new Set<string>();
  for (const instrument of instruments) {
    for (const ticker of tickersOf(instrument)) {
      if (taken.has(ticker)) symbols.delete(ticker);
      else symbols.set(ticker, instrument.symbol);
      taken.add(ticker);
    }
  }
  return symbols;
}

function tickersOf({ symbol, assetClass }: Instrument): readonly string[] {
  if (assetClass !== "crypto") return [symbol];
  const coin = coinOf(symbol);
  const sure = [`${coin}-USD`, `${coin}-X`, `${coin}USD`];
  return COINS_BY_TICKER.has(coin) ? [coin, ...sure] : sure;
}
