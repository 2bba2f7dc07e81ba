import type { Topic } from "./entries.ts";

/** Everyday words of praise, hope, doubt and blame. */
export const opinion: Topic = [
  [
    2.5,
    `amazing awesome fantastic phenomenal incredible outstanding superb spectacular extraordinary
    exceptional brilliant magnificent fabulous marvelous unbelievable_quarter perfect perfectly
    flawless best_stock love_this love_it so_good too_good_to_miss insanely_good`,
  ],
  [
    2,
    `excellent great greatest terrific wonderful impressive impress* strong stronger strongest
    strongly strength robust robustly confident confidence confidently optimistic bright thrive* flourish*
    shine* shining excite* exciting excited thrilled delighted delight* superior remarkable
    undervalued_gem no_brainer easy_money free_money huge_potential massive_potential massive_upside
    huge_upside good_news great_news big_news well_done nailed_it killing_it killed_it crushing_it
    crushed_it crushes crush_it beast monster on_fire steal a_steal bargain_price rock_solid`,
  ],
  [
    1.5,
    `good better best nice nicely happy happily glad love loved loving loves enjoy* healthy solid
    positive positively smart wise winner_winner cheer* cheered celebrate* congrats congratulations
    reward* rewarding benefit* beneficial gratifying encouraging encourage* reassure* reassuring
    promising_results favourite blessed lucky grateful thankful thank_you wow worth_it worthwhile
    patience_pays patience_pay upscale stand_out standout prime primed poised sweet boost_confidence
    believe believer~ trust_the_process trusted reliable superstar legend genius king
    success successes successful successfully succeed* triumph* victory victories victorious
    overcome overcomes overcame weather_storms hope hopeful hopefully enthusiasm
    enthusiastic bullish_sentiment huge_news breathe_easy`,
  ],
  [
    1,
    `interesting keep_going thanks fun ready fair fine safe safely safer right_direction
    back_on_track relief relieved relax patient patience yes yay yeah yep agreed easy trust like_it
    like_this proud beautiful lovely pretty_good feeling_good feel_good cool nice_try_bears
    long_way_to_go_up worthy respect fresh wins_again growing_pains_over normal
    should_continue shareholder_friendly`,
  ],
  [
    0,
    `good_luck good_morning good_night happy_friday happy_monday great_britain great_lakes best_regards
    better_or_worse for_better great_depression love_to_know thanks_for_nothing nice_try
    for_good_reason good_question very_well as_well as_good_as hard_to_say hard_work
    bad_boy not_bad no_problem no_problems no_worries dont_worry dont_panic no_fear
    no_doubt not_only not_just not_to_mention why_not if_not no_matter whether_or_not
    nothing_but no_wonder right_now like_that look_like looks_like feels_like`,
  ],
  [
    -1,
    `boring bored odd weird strange unusual_delay hesitant hesitate* skeptic~ skeptical skepticism
    sceptical scepticism scepticism wary unsure confused confusing confusion unimpressed meh
    unlikely less_likely lack lacks lacking unfortunate unfortunately sadly tough tougher hard_times
    difficult difficulty difficulties slow_death careful beware avoid avoids watch_out
    wishful hype hyped frustrate* frustrated frustrating annoy* annoying
    annoyed tired tiresome ignore* ignoring gamble gambling speculative regret* oops hmm wtf
    smh ugh sigh sorry miss_out unfair rip_off limited nervous nervousness anxious anxiety
    complacent complacency complicated unrealistic naive greedy greed desperate desperately desperation
    rumor rumors fake_news illusion wait waiting not_yet uphill uphill_battle turbulent_times`,
  ],
  [
    -1.5,
    `bad badly poor poorly sad fail fails failed failing failure~ ugly mess messy wrong stupid dumb
    idiot~ idiotic clown~ joke~ laughable ridiculous absurd pathetic lame weak_hands weakling hate
    hates hated hating negative negatively pessimism pessimistic unhappy angry anger upset
    upsetting mad furious panic panicked panicking scare* scared scary dread* dreadful misery miserable
    nightmare nightmares unable useless hopeless helpless pointless waste wasted wasting
    loser_stock dying_company overrated overhype delusion delusional liar~ lie lies lied lying
    dishonest shady sketchy suspicious manipulate* manipulated manipulation manipulative crook~
    crooked criminal~ thief thieves stole stolen shame ashamed embarrass* embarrassing embarrassment
    betray* cheat* unreliable inferior awful terrible horrible horrendous horrific atrocious
    abysmal nasty gross disgust* disgusting sick_of fed_up had_enough enough_is_enough
    bad_news tough_year hard_year bumpy rough rough_day rough_week dangerous danger hazard~
    peril vulnerable vulnerability hostile ominous punish* brutal harsh severe severely
    grim dire regrettable incompetent incompetence clueless reckless irresponsible fake
    overestimate* wrong_way wrong_direction cant_catch_a_break cliff nothing_burger puncture*
    broken broke heartbreaking ignominious dismal_year in_doubt out_of_control
    over_for coming_to_an_end come_to_an_end put_to_shame`,
  ],
  [
    -2.5,
    `garbage trash crap shit shitty piece_of_shit piece_of_crap pos sucks suck sucked
    horrible_stock worst_stock screwed fucked bullshit bs hot_garbage shitshow clown_show shit_show dumpster_fire
    train_wreck trainwreck`,
  ],
];
