import type { LexiconTopic } from "./entries.ts";

/** Lexicon entries on courts, regulators, crime and distress. */
export const troubleTopic: LexiconTopic = [
  [
    2,
    `acquit* acquitted exonerate* case_dismissed/dropped win/wins/won_lawsuit/case/appeal prevail*
    emerge/emerges/exit/exits_bankruptcy emerges_from_bankruptcy`,
  ],
  [1.5, `settle* settlement~ resolve* resolution reprieve~ compliant`],
  [1, `rescue* deregulate* deregulation compliance exempt* exemption~ waiver~ regulatory_clarity`],
  [0, `fine_tune* risk_free/adjusted/reward/management`],
  [
    -1,
    `risk~ risky concern~ concerned worry worries worried worrisome worrying caution* cautionary
    cautious cautiously challenge* uncertainty uncertainties doubt* questionable unclear friction
    tension~ dispute* oppose* opposition crackdown crack*_down antitrust monopoly under_fire
    complaint~ complain* criticize* criticise* criticism rebuke* blame* defensive tariff~
    sanction* embargo trade_war blacklist* restrict* restriction~ hurdle~ obstacle~ conflict~`,
  ],
  [
    -1.5,
    `threat~ threaten* fear~ feared fearful crisis crises problem~ problematic trouble~ troubled
    troubling struggle* struggle/struggles/struggling_to suffer* harm* hurt* damage* pain painful
    bite bites stifle* hamper* hinder* thwart* curb* cripple* paralyze* sideline* strain*
    pressure* outbreak~ pandemic lockdown~ emergency ban bans banned banning prohibit* barred
    revoke* revocation penalty penalties penalize* fined fines violate* violation~ subpoena*
    probe* investigate* investigation~ inquiry inquiries raid* lawsuit~ sue* litigation
    class_action legal_action/trouble/woes injunction~ allege* allegation~ accuse* accusation~
    liable guilty convict* jail* prison arrest* indict* indictment~ wrongdoing misconduct
    harassment discrimination conspiracy collusion bribe* bribery corruption corrupt illegal
    illegally unlawful mislead misleading misled deceive* deceptive investor/shareholder_alert
    lose/loses/lost_lawsuit/case/appeal/license downfall woe~ toxic poison* delinquency
    delinquencies bad_loan~/debt~ cash_strapped ailing embattled beleaguered sinking_ship
    red_flag~ alarm*`,
  ],
  [
    -2.5,
    `fraud~ fraudulent fraudster~ scandal~ scam* scammers ponzi pyramid_scheme embezzle* launder*
    money_laundering insider_trading sham theft bankrupt bankruptcy bankruptcies
    file/files/filed_bankruptcy insolvent insolvency receivership liquidate* liquidation~
    foreclose* foreclosure~ default* delist* trading_halted
    sec/doj/criminal_probe/charges/investigation force_majeure catastrophe catastrophic disaster~
    disastrous doom* death_knell/spiral dying dead killed fatal deadly ruin* devastate*
    cook/cooked/cooking_the_books house_of_cards worthless toxic_financing`,
  ],
];
