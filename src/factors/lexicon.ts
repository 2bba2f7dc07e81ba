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
    `all_time_high ath skyrocket skyrocketing to_the_moon moon mooning moonshot rocket rocketing
    parabolic multibagger tendies lambo strong_buy short_squeeze squeeze squeezed blowout crushes
    crushed_it smashes target_raised 🚀`,
  ],
  [
    2.5,
    `surge surges surged soar soars soared rally rallies rallied jump jumps jumped spike spikes
    spiked upgrade upgrades upgraded raised_to outperform overweight buy_rating at_buy to_buy
    bullish uptrend breakout breaking_out higher_highs higher_lows gap_up undervalued oversold beat
    beats beating topped tops ripping rips bear_trap buyback buybacks dividend_increase
    special_dividend swings_to_profit golden_cross fda_approval gets_approval lets_go lfg printing
    my_calls 🌙 🌕 🌝 🐂 🐃 📈 🤑 💹`,
  ],
  [
    2,
    `up rise rises rose rising gain gains gained gaining gainer gainers climb climbs climbed grow
    grows grew growth growing higher highs increase increases increased increasing improve improved
    improving boost boosts boosted raise raises raised lift lifts advances upside upbeat calls long
    load loading loaded accumulate accumulating adding added add_more got_in take_off bottomed
    bottom_is_in bounce bounces rebound rebounds rebounded recover recovers recovered recovery
    reversal run_up flying fly exploding explode explodes cheap discount bargain steal win winning
    winner winners expand expanded expansion doubled double triple strong stronger strongest
    strength optimistic optimism confident confidence green ripped outperforms breakthrough exceed
    exceeds better_than_expected above_estimates easy_money free_money diamond_hands hodl on_sale
    buy_the_dip btfd buying_the_dip 💎 🙌 🟢 💰 💵 💲 🎉 🥳 🍾 🍻 👍 💪 ✅ 🏆 😎 ⬆ 💚 🛫 comeback thrives thriving
    repurchase break_out`,
  ],
  [
    1.5,
    `good great excellent amazing awesome fantastic incredible love loving best better nice sweet
    solid robust healthy attractive beautiful profit profitable opportunity opportunities approval
    approved approves momentum launch launches partnership partner agreement secures signs acquires
    acquired acquisition happy excited exciting positive favorable catalyst potential ease eases
    eased easing reopening reopen hires hiring boom booming record leader future smart patience
    patient lets run bears shorts shorties buying bought too_late get_in trust 🔥 😍 😁 🤩 👏 🍀 ❤ ✈ 💸 💥
    💯 🤘 ⚡ prevails okays oks discovery pick_up upbeat new_jobs`,
  ],
  [
    1,
    `buy buyers hold holding keep ready stable steady hope hopefully target yes yay rich retire
    christmas patiently tomorrow deal contract orders trade_deal stimulus vaccine above split power
    support invest high profits gift omg 🙏 😊 😏 👀 🤞 😉 🎯 likes restart restarts steadies inks accepts`,
  ],
  [0.5, `we shares volume believe interesting bull dip fine fill missed`],
  [
    0,
    `long_term short_term as_long_as how_long so_long no_longer up_to sign_up set_up wake_up give_up
    what_up conference_call earnings_call buy_or_sell bulls_and_bears short_interest to_settle`,
  ],
  [-0.5, `lol 😂 🤣 why costs expenses risk sold yields dips`],
  [
    -1,
    `wait waiting cautious uncertainty volatile volatility resistance overbought mixed slow slowed
    slowdown delay delays delayed risky concern concerns concerned worry worries wtf bulls holders
    pump pumping pumped below under steps_down flat boring tariffs virus coronavirus taxes sec
    insiders theta chasing to_hold 🤔 😐 🙄 😬 😅 😷 🔪 🤥 headwinds tensions tension pause pauses
    defensive`,
  ],
  [
    -1.5,
    `weak weaker weakness low lower lowest lose loses lost loss losses decline declines declined
    decrease decreased reduce cut cuts cutting trim trims negative bad worse worst hurt hurts hit
    hits pressure drag weighs disappoints disappointing disappointment fears panic halt halts
    halted suspend problem problems issue issues struggle struggling trouble overpriced layoff
    layoffs cancels shut shutdown lockdown debt deficit recession outbreak crisis hate ridiculous
    pathetic terrible horrible awful ugly sad sorry liar lies lying broke greedy manipulation fake
    reality cult yikes kill pig pigs inflated sell sellers bear correction pullback profit_taking
    take_profits 😢 😔 😞 😩 😠 🤮 🤢 🙈 🤦 🚫 🐷 😵 🐒 slash slashes slashed fails fail failed failing stumble
    stumbles backlash complaints lackluster canceled suspends suspension gloom muted axe ban bans
    closures`,
  ],
  [
    -2,
    `down drop drops dropped fall falls fell falling slip slips slide slides slid sink sinks sinking
    tumble tumbles red sells selling short shorting shorted puts put bearish downside downtrend
    miss misses underperform underweight overvalued downgrade downgrades downgraded warn warns
    warned warning lawsuit sues class_action probe investigation investigating fined recall default
    dump dumps dumping dumped trap bull_trap dead_cat gap_down rejected rejection bag bags
    bagholder bagholders overhyped hype bubble burst toppy too_high stop_loss margin_call get_out
    dilution offering worse_than_expected rolling_over fade fading joke blood suckers sucker
    pumpers delusional bloated reality_check 🐻 🔻 👎 😭 😱 🤡 ⚠ 🔴 😡 🤬 ⬇ 🗑 🛑 gave_up gives_up reels
    halved devastates recalls defaults`,
  ],
  [
    -2.5,
    `plunge plunges plunged plunging plummet plummets tank tanks tanked tanking crash crashes
    crashed crashing collapse collapsed bleed bloodbath slump nosedive dive selloff sell_off rout
    bankruptcy bankrupt chapter_11 fraud scam ponzi rug rug_pull rekt wiped liquidated liquidation
    insolvency delisted scandal worthless garbage trash junk crap shit pos fucked death_cross
    pump_and_dump exit_liquidity house_of_cards lowers_guidance lowers_outlook pt_cut target_cut
    target_lowered cut_to lowered_to new_low all_time_low going_down my_puts 📉 🩸 💩 💀 🚨`,
  ],
  [-3, `catastrophe disaster doomed going_to_zero dead dying destroyed`],
];

/** Valence in [-3, 3] of a word, a phrase of two or three words joined with `_`, or an emoji. */
export const lexicon: ReadonlyMap<string, number> = new Map(
  entriesByValence.flatMap(([valence, entries]) =>
    words(entries).map((entry) => [entry, valence] as const),
  ),
);

/** First words of the phrases in {@link lexicon}: only they are worth a phrase look-up. */
export const phraseStarts: ReadonlySet<string> = new Set(
  [...lexicon.keys()].flatMap((entry) => (entry.includes("_") ? [entry.split("_", 1)[0]!] : [])),
);

/** Words that turn what follows them. */
export const negations: ReadonlySet<string> = new Set(
  words(`no not none neither nor cannot cant wont dont isnt wasnt arent werent didnt doesnt
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
    claims risk risks default defaults bankruptcies outflows layoffs inventories yields
    tariff tariffs fears tensions`),
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
