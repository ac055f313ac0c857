// Values that both APIs render alike: times as ISO 8601 UTC, and the findings about a document.
import type { UnableAgents } from '../../agent/use-cases/vocabularies.ts';
import type { Finding } from '../../bundle/rules/finding.ts';
import { renderMillis } from '../../shared/instant.ts';

/** Epoch milliseconds as ISO 8601 UTC with milliseconds. */
export const iso = renderMillis;

export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

export const renderFindings = (findings: readonly Finding[]) => findings.map((finding) => ({ ...finding }));

/** Name of each kind of document on each API, with the agents that do not load it. */
const documentWords = {
  console: {
    bundle: 'This bundle contains contracts, but agents of /v1 load only rulesets',
    ruleset: 'This bundle is a ruleset, but agents of /api/v1 load only contracts',
  },
  hosted: {
    bundle: 'This document is a bundle of contracts, but agents of /v1 load only rulesets',
    ruleset: 'This document is a ruleset, but agents of /api/v1 load only bundles of contracts',
  },
} as const;

type Words = keyof typeof documentWords;

/** Says which agents are given a document that they cannot load, in the words of one API. */
export function unableText({ kind, count, isPartial, agentIds }: UnableAgents, words: Words): string {
  const api = kind === 'bundle' ? '/v1' : '/api/v1';
  const names = agentIds.join(', ') + (count > agentIds.length ? ', …' : '');
  const who =
    count === 1 && !isPartial
      ? `1 agent that receives it was last seen on ${api} and keeps`
      : `${isPartial ? 'At least ' : ''}${count} agents that receive it were last seen on ${api} and keep`;
  return `${documentWords[words][kind]}. ${who} the document in use: ${names}.`;
}

/** The same as a finding in the document, after the others. */
export const renderFindingsFor = (
  findings: readonly Finding[],
  unable: UnableAgents | null,
  words: Words,
) => [
  ...renderFindings(findings),
  ...(unable === null
    ? []
    : [
        {
          severity: 'warning' as const,
          code: 'other-vocabulary',
          contract: null,
          path: 'kind',
          line: 1,
          column: 1,
          message: unableText(unable, words),
          suggestion: 'a document in their own vocabulary, under the name of their assigned bundle',
        },
      ]),
];
