// Why an agent gets its bundle, as the end of a sentence with both.
import type { JSX } from 'react';
import type { Reply } from '../../lib/api.ts';
import { Data } from '../../ui/parts.tsx';

type Resolved = Reply<'resolveRule'>;

export function Because({
  source,
  pattern,
}: Readonly<{ source: Resolved['source']; pattern: Resolved['rule_pattern'] }>): JSX.Element {
  return (
    <>
      {source === 'explicit' && '(assigned to this agent directly)'}
      {source === 'rule' && <Data before="(assigned by the rule " text={pattern ?? ''} max={120} after=")" />}
      {source === 'agent_provided' && '(chosen by the agent itself)'}
    </>
  );
}
