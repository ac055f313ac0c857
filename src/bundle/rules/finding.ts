// Findings in a document of rules, with their positions: compile errors, findings of the linter, and excessive sizes.
import type { LintFinding } from 'reeve-agent/rules';

/** An `error` stops a deploy, unless an admin forces it or the version ran in that environment before. */
export interface Finding extends Omit<LintFinding, 'code'> {
  /** A stable word: `invalid` for what no agent can load, `large-document`, or one of the linter's. */
  readonly code: string;
}

/** Bytes that two of the released clients take of a document by stream. */
const streamLimits = [819_200, 524_288];

/** Warns of a document that some clients cannot take by stream. @param bytes of its YAML */
export function sizeFindings(bytes: number): readonly Finding[] {
  const over = streamLimits.find((limit) => bytes > limit);
  if (over === undefined) return [];
  return [
    {
      severity: 'warning',
      code: 'large-document',
      contract: null,
      path: '',
      line: 1,
      column: 1,
      message: `The document has ${bytes} bytes. Some released clients accept at most ${over} by stream, and keep their old document.`,
      suggestion: 'several smaller bundles, or shorter messages',
    },
  ];
}

export const isError = ({ severity }: Finding): boolean => severity === 'error';

/** One line for a person: the place, then the sentence. */
export const findingText = ({ line, column, message }: Finding): string =>
  `line ${line}, column ${column}: ${message}`;
