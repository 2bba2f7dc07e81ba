import { CANDIDATE } from "../score/candidate.ts";

/**
 * Why release 2.0.0 scores stocks by the candidate although the rule registered with it asked for
 * live sessions first; registered with the method and quoted in the docs.
 */
export const DEPARTURE = `2.0.0 scores stocks by the parts registered as ${CANDIDATE.name}. This departs from our own registered rule: “${CANDIDATE.rule.text}” No live session supports it. It was decided on 2026-11-28, before any live session, because a score with no evidence (rank IC −.012 over 21 sessions) was being served while one with evidence on four sets stood beside it. The rule of ${CANDIDATE.name}, its registration and its verdict stay displayed and go on.`;
