// The test whether a document may be deployed, by what was found in it. Pure.

import { HubError } from '../../shared/error.ts';
import { type Finding, findingText, isError } from './finding.ts';

/** Findings named in the sentence of a refusal; the answer lists all. */
const maxNamed = 20;

/** @throws HubError unprocessable that names what stops a deploy, when anything does */
export function requireDeployable(findings: readonly Finding[]): void {
  const errors = findings.filter(isError);
  if (errors.length === 0) return;
  const sentences = errors.slice(0, maxNamed).map(findingText);
  const more = errors.length > maxNamed ? `; and ${errors.length - maxNamed} more` : '';
  const count = errors.length === 1 ? 'an error' : `${errors.length} errors`;
  throw new HubError(
    'unprocessable',
    `Nothing was deployed, because the document has ${count}. ${sentences.join('; ')}`.slice(0, 4000) + more,
    { findings },
  );
}

/** The text of a stored document, as agents read it. */
export const textOf = (yaml: Uint8Array): string => new TextDecoder().decode(yaml);
