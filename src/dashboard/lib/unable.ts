// Splits the hub's findings about a deployed document: agents that cannot load it, and the document itself.

/** The hub's code for agents whose document uses the vocabulary of the other API. */
const code = 'other-vocabulary';

interface Finding {
  readonly code: string;
  readonly message: string;
}

/** Sentence about agents that keep their current document; null if all agents can load the new one. */
export const unableIn = (findings: readonly Finding[]): string | null =>
  findings.find((one) => one.code === code)?.message ?? null;

/** Findings about the document. */
export const ofDocument = <F extends Finding>(findings: readonly F[]): readonly F[] =>
  findings.filter((one) => one.code !== code);
