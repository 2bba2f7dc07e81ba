/** Placeholder for the instrument's cashtag in a sentence. */
const SLOT = "{symbol}";

/** Voices by mood, from clearly bullish to clearly bearish. */
const VOICES: readonly { readonly emoji: string; readonly sentences: readonly string[] }[] = [
  {
    emoji: "🚀",
    sentences: [
      "{symbol} crushed earnings and raised guidance, I am buying more",
      "Huge breakout in {symbol}, this rally is just getting started",
      "{symbol} to the moon, loaded up on calls this morning",
      "Record profit and strong growth at {symbol}, very bullish",
      "Everything about {symbol} screams strong buy right now",
      "{symbol} keeps making new highs, the bulls are in full control",
      "Massive upgrade for {symbol}, the price target doubled",
      "Best quarter ever for {symbol}, revenue beat by a mile",
      "All in on {symbol}, love this company and its outlook",
      "{symbol} is ripping, shorts are getting squeezed badly",
      "Amazing demand for what {symbol} sells, margins are soaring",
      "{symbol} is a clear winner, holding with diamond hands",
      "Great results from {symbol}: sales surged and debt fell",
      "{symbol} is exploding higher on record volume, so bullish",
      "Very confident in {symbol}, excellent management and growing profits",
      "{symbol} beat every estimate, expecting a big gap up",
    ],
  },
  {
    emoji: "📈",
    sentences: [
      "{symbol} looks good here, slowly adding to my position",
      "Nice bounce in {symbol}, buyers are stepping in",
      "{symbol} trending up, I like the chart",
      "Solid numbers from {symbol}, a bit better than expected",
      "Upgrade for {symbol} seems fair, the outlook is improving",
      "{symbol} held support well, long with a tight stop",
      "Insiders bought {symbol} again, a positive sign",
      "{symbol} is cheap compared with its peers, accumulating",
      "Decent momentum in {symbol}, could break out this week",
      "I think {symbol} goes higher from here",
      "{symbol} is recovering nicely after the dip",
      "Green day for {symbol}, happy to hold",
      "{symbol} won a new contract, good news for next year",
      "Bought some {symbol} today, the risk looks small",
      "{symbol} raised its dividend, steady as always",
      "The dip in {symbol} is an opportunity in my view",
    ],
  },
  {
    emoji: "👀",
    sentences: [
      "{symbol} reports next week, what is everyone expecting?",
      "Watching {symbol} closely, no position yet",
      "Anyone following {symbol} today?",
      "{symbol} is trading sideways in its usual range",
      "Volume in {symbol} is about average today",
      "{symbol} presents at a conference on Thursday",
      "Waiting for a clear signal in {symbol}",
      "What is the next date to watch for {symbol}?",
      "{symbol} opened unchanged this morning",
      "Reading the latest filing of {symbol} tonight",
      "{symbol} has a new head of marketing",
      "Mixed quarter at {symbol}, sales up and margin down",
      "Could go either way with {symbol} from here",
      "Put {symbol} on the list for the next months",
      "Does {symbol} still have its office by the river?",
      "{symbol} has been quiet lately, waiting for news",
    ],
  },
  {
    emoji: "📉",
    sentences: [
      "{symbol} looks weak here, trimming my position",
      "{symbol} failed at resistance again, careful",
      "Not convinced by {symbol}, growth is slowing",
      "Downgrade for {symbol}, the valuation seems expensive",
      "{symbol} lost support, sellers are in control",
      "Soft guidance from {symbol}, a bit disappointing",
      "{symbol} drifting lower, I am staying away",
      "Sold half of my {symbol}, too much risk now",
      "Insiders keep selling {symbol}, a bad sign",
      "Margins at {symbol} are under pressure",
      "Red day for {symbol}, the trend is down",
      "I think {symbol} goes lower from here",
      "{symbol} delayed its new product, bad news for sales",
      "Competition is hurting {symbol}, losing customers",
      "{symbol} is overvalued compared with its peers",
      "Bought a few puts on {symbol} to be safe",
    ],
  },
  {
    emoji: "💀",
    sentences: [
      "{symbol} missed badly and cut guidance, get out",
      "{symbol} is crashing, no bottom in sight",
      "Terrible quarter for {symbol}, losses are growing",
      "Short {symbol} with everything, this is going to collapse",
      "{symbol} is a disaster, management has no plan",
      "Huge debt and falling sales, {symbol} could go bankrupt",
      "{symbol} dumped again, bag holders are in pain",
      "Dumping all my {symbol} before it tanks further",
      "Fraud investigation at {symbol}, strong sell",
      "{symbol} plunged on a lawsuit, worst chart of the year",
      "Very bearish on {symbol}, demand has collapsed",
      "Awful dilution by {symbol}, shareholders got crushed",
      "{symbol} is worthless, puts are printing",
      "{symbol} suspended its dividend, the sell-off gets worse",
      "Panic selling in {symbol}, broke every support",
      "Worst earnings ever from {symbol}, avoid at all costs",
    ],
  },
];

/**
 * Sentences about one instrument: one list per mood, from clearly bullish (0) to clearly bearish
 * (4); each list has the sentences without emoji, then those with an emoji. All messages share
 * these strings, which keeps a year of messages small.
 */
export function phrasesFor(symbol: string): readonly (readonly string[])[] {
  return VOICES.map(({ sentences, emoji }) => {
    const plain = sentences.map((sentence) => sentence.replace(SLOT, `$${symbol}`));
    return [...plain, ...plain.map((sentence) => `${sentence} ${emoji}`)];
  });
}
