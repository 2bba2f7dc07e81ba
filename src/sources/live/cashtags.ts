import { coinsNamedIn } from "../../market/coin-names.ts";
import type { Instrument } from "../../market/instrument.ts";
import { createNewYorkDateReader } from "../../market/new-york.ts";
import { coinTicker } from "./provider-symbols.ts";
import { currentTicker } from "./ticker-changes.ts";

/** Maximum number of characters of a text that are searched, before and after normalization. */
const MAX_CHARACTERS = 2_000;

/** Invisible characters, which could split or hide a ticker. */
const INVISIBLE = /(?!\s)[\p{Cc}\p{Cf}\p{Variation_Selector}]/gu;

/**
 * Characters that rule out a ticker if they touch it: letters, other currency signs, and the signs
 * that mask swear words, as in `S%$T`.
 */
const JOINED = String.raw`[\p{L}\p{N}\p{M}\p{Sc}_@#%^&*~=]`;

/** A ticker, with an optional suffix for a share class, a coin, a pair or another exchange. */
const TICKER = `([A-Za-z]{1,10})(?:[./-](USD|usd|[A-Za-z]{1,2})(?!${JOINED}))?(?!${JOINED})`;

/**
 * A cashtag: `$AAPL`, `$BRK.B`, `$BTC.X`, `$T.TO`; not `US$AAPL`, `$5B`, `$ES_F`, `$SPYhttp`,
 * `BE€$T`.
 */
const CASHTAG = new RegExp(String.raw`(?<!${JOINED}|!)\$${TICKER}`, "gu");

/** An exchange: `NYSE`, `NYSE Arca`, `NYSEARCA`, `Nasdaq GS`, `OTCQX`. */
const EXCHANGE = "(?:NYSE|NASDAQ|Nasdaq|CBOE|Cboe|AMEX|OTC)[A-Za-z]{0,10}(?: [A-Za-z]{1,10}){0,2}";

/**
 * A listing as written in press releases: `(NYSE: T)`, `(NASDAQ:AAPL)`, `(NYSE: T; NASDAQ: AAPL)`.
 */
const LISTING = new RegExp(String.raw`(?<=[([;,]\s?)${EXCHANGE}: ?${TICKER}(?= ?[)\];,])`, "gu");

/**
 * A ticker before the ellipsis of a truncated text; it may be only the start of a longer ticker.
 */
const CUT_OFF = /\$[A-Za-z]{1,10}…/gu;

/** Shell variables and currency codes, which are also written with a dollar sign. */
const NO_TICKERS = new Set(["PATH", "HOME", "USER", "SHELL", "CASH", "USD", "EUR", "CAD", "AUD"]);

/**
 * Lower-case words that do not count as tickers after a dollar sign, since the sign may replace an
 * S or mark a variable of a program. Tickers of one or two letters count only in capitals.
 */
const NO_SMALL_TICKERS = new Set(
  "ale app car cat data eat elf hit hop ink key kin lab low now oil pay pin post pot tap tar team ten top way well".split(
    " ",
  ),
);

/**
 * Tickers that mean the coin when they stand alone after a dollar sign, although some of them are
 * also tickers of funds. The ticker of any other coin may mean a listed company: `$LTC` is also LTC
 * Properties, `$STX` is Seagate, `$NEAR` is a bond fund, and new companies are listed every day.
 */
const COINS_BY_TICKER = new Set("ADA AVAX BNB BTC DOGE DOT ETH SHIB SOL XLM XMR XRP".split(" "));

/** The instruments that a text mentions. */
interface MentionedInstruments {
  /** Mentioned symbols of the universe. */
  readonly symbols: readonly string[];
  /** Number of instruments that the text mentions, in the universe or not. */
  readonly count: number;
}

/**
 * Creates a reader that finds the instruments that a text mentions beyond doubt: by cashtag, by
 * exchange and ticker in brackets, or, for coins, by name. A ticker alone never counts, since many
 * tickers are words: IT, ALL, NOW, DTE, YOU, V. The reader searches at most 2,000 characters of a
 * text, in linear time.
 *
 * @returns A function of the text and of the time at which it was written, in Unix milliseconds:
 * tickers are interpreted as of that day.
 */
export function createCashtagReader(
  instruments: readonly Instrument[],
): (text: string, writtenAt: number) => MentionedInstruments {
  const byTicker = symbolsByTicker(instruments);
  const byListing = new Set(
    instruments.filter(({ assetClass }) => assetClass !== "crypto").map(({ symbol }) => symbol),
  );
  const dayOf = createNewYorkDateReader();
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

/**
 * Removes invisible characters and normalizes spellings (NFKC). The text is truncated again
 * afterwards because NFKC can make it 18 times longer.
 */
function visible(text: string): string {
  const cut = text.slice(0, MAX_CHARACTERS).replace(INVISIBLE, "").replace(CUT_OFF, "");
  return cut.normalize("NFKC").slice(0, MAX_CHARACTERS);
}

/** A mention of an instrument in a text. */
interface Name {
  /** The ticker as the universe spells it: `AAPL`, `BRK-B`, `BTC-USD`, `BTC-X`. */
  readonly ticker: string;
  /**
   * Whether the text gives an exchange. A listed instrument is a company or a fund, never a coin:
   * `(NYSE Arca: BTC)`.
   */
  readonly isListing: boolean;
}

function namesIn(text: string): readonly Name[] {
  const cashtags = [...text.matchAll(CASHTAG)].filter(([, ticker = ""]) => isTicker(ticker));
  const listed = new Set(Array.from(text.matchAll(LISTING), spelled));
  // Listings are removed first, because the names of some coins are also tickers of funds: BTC,
  // XRP.
  const coins = coinsNamedIn(text.replace(LISTING, " "));
  return [
    // A ticker with an exchange in brackets means the listing everywhere in the text:
    // `Emeren (NYSE: SOL), $SOL`.
    ...cashtags.map(spelled).map((ticker) => ({ ticker, isListing: listed.has(ticker) })),
    ...[...listed].map((ticker) => ({ ticker, isListing: true })),
    ...coins.map((coin) => ({ ticker: `${coin}-USD`, isListing: false })),
  ];
}

const spelled = ([, ticker, suffix]: RegExpExecArray): string =>
  [ticker, suffix].filter(Boolean).join("-").toUpperCase();

/**
 * Whether the text after a dollar sign is a ticker. In mixed case it is a word, as in `$Oil`, or a
 * name, as in `$Ford`.
 */
function isTicker(ticker: string): boolean {
  if (NO_TICKERS.has(ticker.toUpperCase())) return false;
  if (ticker === ticker.toUpperCase()) return true;
  const isSmall = ticker === ticker.toLowerCase();
  return isSmall && ticker.length >= 3 && !NO_SMALL_TICKERS.has(ticker);
}

/** Symbols by cashtag; a cashtag that two symbols share is left out. */
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
  const coin = coinTicker(symbol);
  const sure = [`${coin}-USD`, `${coin}-X`, `${coin}USD`];
  return COINS_BY_TICKER.has(coin) ? [coin, ...sure] : sure;
}
