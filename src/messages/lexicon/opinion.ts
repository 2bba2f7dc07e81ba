import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries of general praise, hope, doubt and blame. */
export const opinionTopic: LexiconTopic = [
  [
    2.5,
    `amazing awesome fantastic phenomenal incredible outstanding superb spectacular extraordinary
    exceptional brilliant perfect perfectly flawless love_this/it`,
  ],
  [
    2,
    `excellent great greatest terrific wonderful impressive impress* strong stronger strongest
    strongly strength robust robustly confident confidence confidently optimistic bright thrive*
    flourish* shine* excite* thrilled delight* superior remarkable no_brainer easy/free_money
    massive_upside big_news well_done nailed_it kill/killing/killed/crush/crushing/crushed_it
    crushes beast monster on_fire steal`,
  ],
  [
    1.5,
    `good better best nice nicely happy happily glad love loved loving loves enjoy* healthy solid
    positive positively smart wise cheer* celebrate* congrats congratulations reward* benefit*
    beneficial encourage* reassure* blessed lucky grateful shrug/shrugs/shrugged/shrugging_off
    thank_you wow worth_it worthwhile stand/stands_out standout prime primed poised sweet believe
    believer~ trusted reliable superstar legend genius king success successes successful
    successfully succeed* triumph* victory victories victorious overcome* hope hopeful hopefully
    enthusiasm enthusiastic`,
  ],
  [
    1,
    `interesting thanks fun ready fair fine safe safely safer right_direction relief relieved relax
    patient patience yes yay yeah yep easy trust like_it/this proud beautiful lovely cool worthy
    respect`,
  ],
  [
    0,
    `nice_try good_morning as_good_as not_bad no_problem/problems/worries/fear/doubt/wonder/matter
    dont_worry/panic/miss not_only/just why_not`,
  ],
  [
    -1,
    `boring bored hesitant hesitate* skeptic~ skeptical skepticism sceptical scepticism wary unsure
    confuse* confusion unimpressed meh unlikely less_likely lack lacks lacking unfortunate
    unfortunately sadly tough tougher hard_times difficult difficulty difficulties careful beware
    avoid avoids watch_out wishful hype hyped frustrate* annoy* tired ignore* gamble gambling
    speculative regret* oops hmm wtf smh ugh sigh sorry unfair rip_off limited nervous nervousness
    anxious anxiety complacent complacency complicated unrealistic naive greedy greed desperate
    desperately desperation rumor~ illusion wait waiting not_yet uphill`,
  ],
  [
    -1.5,
    `bad badly poor poorly sad fail* failure~ ugly mess messy wrong stupid dumb idiot~ idiotic
    clown~ joke~ laughable ridiculous absurd pathetic lame hate* negative negatively pessimism
    pessimistic unhappy angry anger upset upsetting mad furious panic* panicked panicking scare*
    scary dread* dreadful misery miserable nightmare~ useless hopeless helpless pointless waste*
    overrated delusion delusional liar~ lie lies lied lying dishonest shady sketchy suspicious
    manipulate* manipulation manipulative crook~ crooked criminal~ thief thieves stole stolen
    shame ashamed embarrass* embarrassment betray* cheat* unreliable inferior awful terrible
    horrible horrendous horrific atrocious abysmal nasty gross disgust* sick_of fed_up
    enough_is_enough hard/tough/rough_year/week/day bumpy rough dangerous danger~ hazard~ peril
    vulnerable vulnerability hostile punish* brutal harsh severe severely grim dire incompetent
    incompetence clueless reckless irresponsible fake overestimate* broken broke heartbreaking
    cliff nothing_burger out_of_control`,
  ],
  [
    -2.5,
    `garbage trash crap crappy shit shitty bullshit bs pos suck* screwed fucked shitshow
    clown/shit_show dumpster_fire train_wreck trainwreck junk`,
  ],
];
