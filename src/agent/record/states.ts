// The words of queries for agents' states. Runs in browsers.

/** The words of queries for the states of an agent, each with the other words that mean the same. */
export const agentStates = {
  connected: [],
  away: [],
  current: ['up_to_date'],
  out_of_date: ['drift', 'out-of-date'],
  unknown: [],
} as const;
