// What the hub found in a document that was deployed: agents that cannot load it are told apart from the rest, which is
// about the document alone.

/** The hub's code for agents that are given a document in the words of the other API. */
const code = 'other-vocabulary';

interface Finding {
  readonly code: string;
  readonly message: string;
}

/** The sentence about agents that keep the document in use; null: all who are given it can load it. */
export const unableIn = (findings: readonly Finding[]): string | null =>
  findings.find((one) => one.code === code)?.message ?? null;

/** What is about the document. */
export const ofDocument = <F extends Finding>(findings: readonly F[]): readonly F[] =>
  findings.filter((one) => one.code !== code);
