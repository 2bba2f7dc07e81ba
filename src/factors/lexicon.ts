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
    `record_profit record_revenue record_earnings record_sales record_quarter all_time_high
    all_time_highs ath skyrocket skyrockets skyrocketed skyrocketing to_the_moon moon mooning
    moonshot rocket rocketing parabolic multibagger tendies lambo strong_buy short_squeeze squeeze
    squeezed blowout blow_out crushes crushed crushing_it crushed_it smashes smashed
    pt_raised target_raised price_target_raised target_raised_to beats_estimates tops_estimates
    beats_expectations tops_expectations double_upgrade 🚀`,
  ],
  [
    2.5,
    `surge surges surged surging soar soars soared soaring rally rallies rallied rallying
    upgrade upgrades upgraded upgraded_to raised_to raised_at raises_guidance raises_outlook
    raises_forecast raised_guidance boosts_outlook lifts_outlook lifts_guidance guides_above
    outperform overweight buy_rating at_buy to_buy bullish bull bulls bullish_on uptrend
    breakout breakouts breaking_out broke_out higher_highs higher_lows gap_up gapping_up
    undervalued oversold beat beats topped tops top_estimates outpaces outpaced
    jump jumps jumped jumping spike spikes spiked ripping rip rips bear_trap buy_the_dip btd btfd
    buying_the_dip bought_the_dip buyback buybacks dividend_increase raises_dividend hikes_dividend
    special_dividend swings_to_profit returns_to_profit golden_cross fda_approval fda_approves
    gets_approval lets_go lfg printing bears_trapped 🌙 🌕 🐂 📈 🤑`,
  ],
  [
    2,
    `up rise rises rose rising risen gain gains gained gaining gainer gainers climb climbs climbed
    climbing grow grows grew growth growing higher high highs new_high new_highs increase increases
    increased increasing improve improves improved improving improvement boost boosts boosted
    raise raises raised lift lifts lifted advance advances advanced upside upbeat buy buys buying
    bought buyers long longs calls call load loading loaded load_up accumulate accumulating
    accumulation adding added add_more bottomed bottom_is_in bounce bounces bounced bouncing rebound
    rebounds rebounded rebounding recover recovers recovered recovering recovery reversal run_up
    running runner flying fly exploding explode explodes cheap discount bargain steal
    dividend_hike approval approved approves wins win winning winner winners won expand expands
    expanded expanding expansion doubled doubles double triple tripled strong stronger strongest
    strength optimistic optimism confident confidence undervaluation green ripped outperforms
    outperformed outperforming initiated_at_buy breakthrough exceed exceeds exceeded
    better_than_expected above_estimates above_expectations green_day easy_money money_maker
    free_money diamond_hands hodl on_sale
    beast monster 🔥 💎 🙌 🟢 💰 💵 🎉 🥳 🍾 👍 💪 ✅ 🏆 😎 ⬆`,
  ],
  [
    1.5,
    `good great excellent amazing awesome fantastic incredible love loving loved best better nice
    solid robust healthy attractive beautiful perfect profit profits profitable profitability
    opportunity opportunities momentum launch launches launched partnership partners partner
    collaboration agreement secures secured signs signed lands awarded award acquire acquires
    acquired acquisition to_acquire invest invests invested investing innovation innovative happy
    excited exciting congrats congratulations favorable positive catalyst potential resilient ease
    eases eased easing support supported reopening reopen reopens hires hiring
    adds boom booming record leader leading future genius smart brilliant patience patient
    thank thanks lol_bears pump pumping pumped held holding_strong 😍 😁 😄 😃 😀 🤩 👏 🍀 🎯 ❤`,
  ],
  [
    1,
    `hold holding holds keep ready stable steady maintain okay fine hope hopefully believe target
    interesting yes yay haha rich retire christmas gift party patiently ahead upward soon tomorrow
    next_week next_leg demand deal contract orders order expects_higher agrees restores resume
    resumes resumed trade_deal stimulus vaccine 🙏 😂 🤣 😉 😊 😏 👀 ☕ 🤞`,
  ],
  [
    0,
    `long_term short_term as_long_as how_long so_long no_longer longer_term shorter_term
    up_to up_for sign_up set_up pick_up wake_up give_up what_up call_with conference_call
    earnings_call at_high high_school high_risk buy_or_sell bulls_and_bears bull_or_bear
    bulls_or_bears fell_asleep hit_the short_interest`,
  ],
  [
    -1,
    `wait waiting cautious caution uncertain uncertainty question questions volatile volatility
    resistance hedge hedging overbought mixed slow slows slowing slowed slowdown delay delays
    delayed postpones postponed risk risks risky concern concerns concerned worry worries worried
    wtf why lol cut_jobs steps_down resigns resign departs leaves flat stuck boring tired
    careful tariff tariffs virus coronavirus 🤔 😐 🙄 😬 😅`,
  ],
  [
    -1.5,
    `weak weaker weakness weaken weakens soft softer low lows lower lose loses losing lost loss
    losses decline declines declined declining decrease decreases decreased reduce reduces reduced
    reducing cut cuts cutting trim trims trimmed negative bad worse worst hurt hurts hurting hit
    hits pressure pressured drag drags weigh weighs weighed disappoint disappoints disappointed
    disappointing disappointment fear fears fearful panic halt halts halted suspend suspends
    suspended problem problems issue issues struggle struggles struggling troubled trouble
    expensive overpriced layoff layoffs lays_off job_cuts strike cancels canceled cancelled
    closes closing_stores shut shuts shutdown shutting lockdown debt
    deficit recession outbreak blame hate stupid idiots idiot ridiculous pathetic terrible
    horrible awful ugly nasty sad sorry liar lies lie lying broke poor greedy greed manipulation
    manipulated fake joke 😢 😔 😞 😩 😠 😤 🤮 🤢 🙈`,
  ],
  [
    -2,
    `down drop drops dropped dropping fall falls fell falling fallen slip slips slipped slide slides
    slid sliding sink sinks sank sinking tumble tumbles tumbled tumbling dip dips dipped red sell
    sells selling sold sellers short shorts shorting shorted put puts bear bears bearish
    downside downtrend downward downtrending miss misses missed underperform underperforms
    underweight sell_rating overvalued at_sell to_sell downgrade downgrades downgraded
    downgraded_to warn warns warned warning lawsuit sued sues sue class_action probe
    probes investigation investigating investigates fined fine penalty recall recalls recalled
    default defaults dump dumps dumping dumped trap bull_trap dead_cat dead_cat_bounce
    lower_highs lower_lows gap_down rejected rejection rejects topped_out bag bags bagholder
    bagholders bag_holders holding_bags overhyped hype bubble toppy stop_loss stopped_out
    margin_call exit get_out profit_taking take_profits taking_profits correction
    pullback pull_back dilution diluted offering below_estimates below_expectations misses_estimates
    worse_than_expected profit_warning rolling_over fading fade faded 🐻 🔻 👎 😭 😱 🤡 ⚠ 🔴 😡 🤬
    ⬇ 🗑 🛑 😰 😨`,
  ],
  [
    -2.5,
    `plunge plunges plunged plunging plummet plummets plummeted plummeting tank tanks tanked tanking
    crash crashes crashed crashing collapse collapses collapsed collapsing bleed bleeding bleeds
    bloodbath slump slumps slumped slumping nosedive selloff sell_off rout carnage bankruptcy
    bankrupt chapter_11 files_for_bankruptcy fraud fraudulent scam scams scammers ponzi rug
    rugpull rug_pull rekt wiped wiped_out liquidated liquidation insolvent insolvency delisted
    delisting scandal worthless garbage trash junk crap shit pos piece_of_shit death_cross
    pump_and_dump cuts_guidance cuts_outlook cuts_forecast lowers_guidance lowers_outlook
    lowers_forecast withdraws_guidance guides_below pt_lowered pt_cut target_cut price_target_cut
    target_lowered cut_to lowered_to cut_at lowered_at cuts_dividend suspends_dividend
    dividend_cut new_low new_lows going_down all_time_low 📉 🩸 💩 💀 🚨`,
  ],
  [-3, `catastrophe disaster doomed going_to_zero goes_to_zero dead dying killed destroyed`],
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
  words(`no not never none neither nor cannot cant wont dont isnt wasnt arent werent didnt doesnt
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
    claims risk risks default defaults bankruptcies outflows layoffs inventories yields`),
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
