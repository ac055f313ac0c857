/** Signals that end a command. SIGHUP too: a closed terminal must end a hub no more abruptly than a supervisor does. */
export const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
