/**
 * The words that {@link polarity} knows, written for this project: market news, trading-desk and
 * social-media language. Phrases are joined with `_`; apostrophes are dropped ("dont").
 */

/**
 * Entries by valence. A zero entry is a phrase that only sounds like a verdict ("long term").
 */
const entriesByValence: readonly (readonly [valence: number, entries: string])[] = [
  [
    3,
    `all_time_high ath blockbuster blowout crushed_it crushes lambo moon mooning moonshot
    multibagger parabolic record_high record_highs record_profit record_revenue rocket
    rocketing short_squeeze skyrocket skyrocketing smashes soaring squeeze squeezed stellar
    strong_buy surging target_raised tendies to_the_moon 🚀`,
  ],
  [
    2.5,
    `accelerates accelerating at_buy bear_trap beat beating beats beats_estimates breaking_out
    breakout breakouts bull_market bull_run bullish buyback buybacks dividend_increase
    fda_approval gap_up gets_approval golden_cross higher_highs higher_lows jump jumped jumping
    jumps lets_go lfg outperform outperformed outperforming oversold overweight printing
    raised_guidance raised_to raises_guidance raises_outlook rallied rallies rally rallying
    ripping rips soar soared soars special_dividend spike spiked spikes spiking surge surged
    surges swings_to_profit to_buy topped tops tops_estimates undervalued upgrade upgraded
    upgrades upgrading uptrend 🌙 🌕 🌝 🐂 🐃 📈 🤑 💹`,
  ],
  [
    2,
    `above_estimates accumulate accumulating add_more added adding advanced advances advancing
    bargain better_than_expected boost boosted boosts bottom_is_in bottomed bounce bounces
    bouncing break_out breakthrough btfd bull bulls buy_rating buy_the_dip buying_the_dip calls
    cheap climb climbed climbing climbs comeback confident diamond_hands discount dividend_hike
    double doubled easy_money exceed exceeded exceeds expand expanded expanding expansion
    explode explodes exploding fly flying free_money gain gained gainer gainers gaining gains
    got_in green grew grow growing grows growth higher highs hodl improve improved improving
    increase increased increases increasing lift lifted lifting lifts load loaded loading long
    on_sale optimism optimistic outperforms oversubscribed profitability raise raised raises
    rebound rebounded rebounding rebounds recover recovered recovering recovers recovery
    repurchase reversal ripped rise rises rising rose run_up steal strength strengthened
    strengthens strong stronger strongest take_off thrives thriving triple turnaround
    undervaluation up upbeat upbeat_guidance upside wagmi win winner winners winning
    winning_streak 💎 🙌 🟢 💰 💵 💲 🎉 🥳 🍾 🍻 👍 💪 ✅ 🏆 😎 ⬆ 💚`,
  ],
  [
    1.5,
    `acquired acquires acquisition agreement amazing approval approved approves attractive
    awesome bargains beautiful best better boom booming bought buy buying catalyst confidence
    discovery earnings_beat ease eased eases easing excellent excited exciting fantastic
    favorable get_in good great happy healthy hires hiring impressive improvement improvements
    incredible launch launches love loving momentum nice opportunities opportunity partner
    partnership pick_up positive potential profit profitable resilient reward rewarding robust
    robustly secures signs solid sweet welcome 🔥 😍 😁 🤩 👏 🍀 ❤ 💸 💥 💯 🤘 ⚡`,
  ],
  [
    1,
    `accepts buyers contract deal held hold holding holds hope hopeful hopefully inks
    interest_in invest keep orders profits ready stabilised stabilized stabilizes stable
    steadies steady supportive target trade_deal upgraded_to yay yes 🙏 😊 😏 🤞 😉 🎯`,
  ],
  [
    0,
    `as_long_as bulls_and_bears buy_or_sell conference_call earnings_call give_up how_long
    long_term no_longer set_up short_interest short_term sign_up so_long up_to wake_up what_up`,
  ],
  [-0.5, `costs expenses risk sold`],
  [
    -1,
    `boring cautious cautiously concern concerned concerns defensive delay delayed delaying
    delays doubt doubts flat headwinds hesitant lag lagged lagging lags mixed overbought pause
    pauses pessimism pump pumped pumping questions resistance risky slow slowdown slowed
    slowing slows steps_down tariffs tension tensions uncertainty unclear volatile volatility
    wait waiting worries worry wtf 🤔 🙄 🤥`,
  ],
  [
    -1.5,
    `awful backlash bad ban bans bear bearish_on bears broke canceled cancelled cancels
    closures complaints correction crisis cut cuts cutting debt decline declined declines
    declining decrease decreased deficit disappointed disappointing disappointment disappoints
    disappoints_investors drag fail failed failing fails fake fears fomo gloom greedy halt
    halted halts hate hit hits horrible hurt hurting hurts inflated kill lackluster layoff
    layoffs layoffs_announced liar lies lose loses losing loss losses lost lower lowest lying
    manipulation muted negative outbreak overpriced panic paper_hands pathetic pig pigs
    pressure problem problems profit_taking pullback recession reduce ridiculous sad sell
    sellers shortfall shrank shrinking shrinks shut shutdown slash slashed slashes sorry
    struggle struggled struggles struggling stumble stumbles suspend suspended suspends
    suspension take_profits terrible trim trims trouble ugly weak weaken weakened weakens
    weaker weakness weighs worse worsened worsening worsens worst yikes 😢 😔 😞 😩 😠 🤮 🤢 🤦 🚫 🐷 😵`,
  ],
  [
    -2,
    `accused bag bagholder bagholders bags bearish bloated breach bubble bull_trap burst
    class_action cut_guidance cuts_guidance cuts_outlook dead_cat default defaults delusional
    devastates dilution dismal down downgrade downgraded downgrades downside downtrend drop
    dropped dropping drops dump dumped dumping dumps fade fading fall falling falls fell fined
    fined_for gap_down gave_up get_out gives_up halved hype investigating investigation lawsuit
    lawsuits margin_call miss missed misses missing ngmi offering overhyped overvalued
    price_target_cut probe profit_warning pumpers put puts reality_check recall recalls red
    rejected rejection rolling_over sank sell_rating selling sells short shorted shorter
    shorting shorts sink sinking sinks slid slide slides sliding slip slips slump_in stop_loss
    sucker suckers sued sues sunk too_high toppy trap tumble tumbles underperform underweight
    violations warn warned warning warns worse_than_expected 🐻 🔻 👎 😱 🤡 ⚠ 🔴 😡 🤬 ⬇ 🗑 🛑`,
  ],
  [
    -2.5,
    `all_time_low bankrupt bankruptcies bankruptcy bleed bloodbath chapter_11 collapse
    collapsed collapses collapsing crap crash crashed crashes crashing crushed cut_to
    death_cross defaulted delisted exit_liquidity fraud fucked garbage going_down guidance_cut
    house_of_cards insolvency insolvent junk liquidated liquidation lowered_to lowers_guidance
    lowers_outlook new_low nosedive plummet plummeted plummeting plummets plunge plunged
    plunges plunging ponzi pos pt_cut pump_and_dump record_loss record_low rekt rout rug
    rug_pull scam scandal sell_off selloff selloffs shit slump slumped slumping slumps tank
    tanked tanking tanks target_cut target_lowered trash tumbled tumbling wiped worthless 📉 🩸 💩
    🚨`,
  ],
  [
    -3,
    `catastrophe dead destroyed disaster doomed dying fraudulent going_to_zero wipeout
    worthless_stock`,
  ],
];

/** Valence in [-3, 3] of a word, a phrase of two or three words joined with `_`, or an emoji. */
export const lexicon: ReadonlyMap<string, number> = new Map(
  entriesByValence.flatMap(([valence, entries]) =>
    words(entries).map((entry) => [entry, valence] as const),
  ),
);

/** First words of the phrases in {@link lexicon}: only they are worth a phrase look-up. */
export const phraseStarts: ReadonlySet<string> = new Set(
  [...lexicon.keys()]
    .filter((entry) => entry.includes("_"))
    .map((entry) => entry.slice(0, entry.indexOf("_"))),
);

/** Words that turn what follows. */
export const negations: ReadonlySet<string> = new Set(
  words(`never no not none neither nor cannot cant wont dont isnt wasnt arent werent didnt doesnt
    hasnt havent wouldnt shouldnt couldnt aint without hardly barely stop`),
);

/** Words that scale the verdict right after them, with their factor. */
export const boosters: ReadonlyMap<string, number> = new Map([
  ...words("very really so much big huge strongly sharply significantly").map(
    (word) => [word, 1.3] as const,
  ),
  ...words("extremely massive massively insanely hugely super").map((word) => [word, 1.5] as const),
  ...words("slightly somewhat little bit modestly marginally").map((word) => [word, 0.6] as const),
]);

/** Nouns of which less is good news. */
export const badNouns: ReadonlySet<string> = new Set(
  words(`loss losses debt debts cost costs expense expenses unemployment jobless inflation deficit
    claims risk risks default defaults bankruptcies outflows layoffs inventories
    tariffs fears tensions`),
);

/** Words that say a quantity went up. */
export const upVerbs: ReadonlySet<string> = new Set(
  words(`up rise rises rose rising risen increase increases increased increasing grow grows grew
    growing widen widens widened widening climb climbs climbed jump jumps jumped soar soars soared
    surge surges surged swell swells swelled higher mount mounts mounting`),
);

/** Words that say a quantity went down. */
export const downVerbs: ReadonlySet<string> = new Set(
  words(`down fall falls fell falling fallen drop drops dropped dropping decline declines declined
    declining decrease decreases decreased decreasing narrow narrows narrowed narrowing narrower
    shrink shrinks shrank shrinking reduce reduces reduced reducing cut cuts cutting ease eases
    eased easing slow slows slowed lower trim trims trimmed`),
);

function words(list: string): readonly string[] {
  return list.trim().split(/\s+/);
}
