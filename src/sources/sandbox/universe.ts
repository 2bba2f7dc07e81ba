/** Data that an instrument lacks; together the instruments cover every kind of missing data. */
export interface MissingDataTraits {
  /** `quiet`: covered by a feed, but without messages most of the time. */
  readonly messages: "usual" | "quiet" | "unobserved";
  /** `thin`: less than one print a week; `short`: short volumes but no prints. */
  readonly offExchange: "usual" | "thin" | "short" | "unobserved";
  /** `lapsing`: some quarters are never filed. */
  readonly filings: "usual" | "lapsing" | "unobserved";
  readonly onChain: "usual" | "unobserved";
  /** 1 shifts the cycles of `quiet` and `lapsing` by half their length. */
  readonly phase: 0 | 1;
  /**
   * When the instrument is listed anew, every second sandbox year (`firstListedDay`); `null` for an
   * instrument that was always listed.
   */
  readonly listing: {
    /** Whether listings are in even (0) or odd (1) sandbox years. */
    readonly parity: 0 | 1;
    /** Day of the sandbox year, from 0 through 251. */
    readonly dayOfYear: number;
  } | null;
}

/** One invented instrument. */
export interface InstrumentSpec {
  readonly ticker: string;
  readonly name: string;
  /** Sector of a stock; `null` for a coin. */
  readonly sector: string | null;
  readonly traits: MissingDataTraits;
}

type Entry = readonly [ticker: string, name: string, traits?: Partial<MissingDataTraits>];

const USUAL: MissingDataTraits = {
  messages: "usual",
  offExchange: "usual",
  filings: "usual",
  onChain: "usual",
  phase: 0,
  listing: null,
};

/**
 * Stocks by sector. Listings are at most 52 days apart, so that at any time some stock has been
 * listed for fewer than 60 sessions. The eight stocks of each of the first two sectors have
 * complete filings and were always listed, so each of these sectors can be ranked on its own.
 */
const SECTORS: Readonly<Record<string, readonly Entry[]>> = {
  Technology: [
    ["ALDER", "Aldermoor Circuits"],
    ["BYTEN", "Bytenfell Software", { messages: "unobserved" }],
    ["CIRRO", "Cirrovane Cloud"],
    ["DATUL", "Datuleth Analytics"],
    ["ELVEX", "Elvexane Networks"],
    ["FENLO", "Fenlorick Devices", { offExchange: "short" }],
    ["GRIDA", "Gridamere Semiconductors"],
    ["HEXOL", "Hexolund Robotics"],
  ],
  "Health Care": [
    ["MEDRU", "Medruvale Diagnostics"],
    ["OSTEL", "Ostelbrook Implants"],
    ["PELVO", "Pelvorane Pharma"],
    ["QUILM", "Quilmorse Therapeutics", { messages: "quiet" }],
    ["REMDA", "Remdalow Clinics"],
    ["SALVO", "Salvothorn Biologics", { offExchange: "unobserved" }],
    ["TONIQ", "Toniqvale Labs"],
    ["VERLA", "Verlaspring Care"],
  ],
  Energy: [
    ["AMBRO", "Ambrowick Gas"],
    ["BORUN", "Borunhaven Oil", { filings: "lapsing" }],
    ["CINDR", "Cindrafell Coal"],
    ["DRILO", "Drilowyn Drilling", { listing: { parity: 0, dayOfYear: 110 } }],
    ["EMBEK", "Embekton Power"],
    ["FLARO", "Flarostead Pipelines", { messages: "unobserved" }],
    ["GUSTR", "Gustromere Wind"],
    ["HYDRU", "Hydrulane Hydro", { listing: { parity: 1, dayOfYear: 110 } }],
  ],
  Industrials: [
    ["ANVLO", "Anvlomoor Forge", { offExchange: "unobserved" }],
    ["BRIKT", "Briktholme Materials"],
    ["CRANO", "Cranodale Machinery", { filings: "lapsing", phase: 1 }],
    ["FERRU", "Ferrulund Rail"],
    ["GYROT", "Gyrotmere Aerospace", { listing: { parity: 0, dayOfYear: 160 } }],
    ["IRONU", "Ironuvale Steel"],
    ["LATHO", "Lathowick Tools", { offExchange: "thin" }],
    ["RIVTO", "Rivtostead Shipyards", { listing: { parity: 1, dayOfYear: 160 } }],
  ],
  "Consumer Goods": [
    ["BRAKN", "Brakenfold Foods"],
    ["CRUMO", "Crumostead Bakeries"],
    ["DAPLO", "Daplowick Apparel", { filings: "unobserved" }],
    ["GLIMO", "Glimothorne Cosmetics", { offExchange: "short" }],
    ["HEARU", "Hearudale Homeware"],
    ["JOLPA", "Jolpamere Toys", { listing: { parity: 0, dayOfYear: 210 } }],
    ["MUNCO", "Muncowell Snacks"],
    [
      "TEAFO",
      "Teafoldane Beverages",
      { filings: "unobserved", listing: { parity: 1, dayOfYear: 210 } },
    ],
  ],
};

const COINS: readonly Entry[] = [
  ["DRIMO", "Drimoth", { listing: { parity: 0, dayOfYear: 10 } }],
  ["FROSP", "Frospenny", { listing: { parity: 0, dayOfYear: 60 } }],
  ["HOLBE", "Holbeam", { messages: "unobserved" }],
  ["KITSO", "Kitsorin", { listing: { parity: 1, dayOfYear: 10 } }],
  ["LUMBK", "Lumbarik", { onChain: "unobserved" }],
  ["MUBAR", "Mubarrow", { messages: "quiet", phase: 1 }],
  ["QUILO", "Quilomint"],
  ["TIDGR", "Tidegrane", { listing: { parity: 1, dayOfYear: 60 } }],
];

function specs(entries: readonly Entry[], sector: string | null): readonly InstrumentSpec[] {
  return entries.map(([ticker, name, traits]) => ({
    ticker,
    name,
    sector,
    traits: { ...USUAL, ...traits },
  }));
}

/** Sector names, in the order of the common sector returns. */
export const SECTOR_NAMES: readonly string[] = Object.keys(SECTORS);

/** 40 invented stocks in 5 sectors of 8, then 8 invented coins. */
export const UNIVERSE: readonly InstrumentSpec[] = [
  ...Object.entries(SECTORS).flatMap(([sector, entries]) => specs(entries, sector)),
  ...specs(COINS, null),
];
