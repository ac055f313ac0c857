// The bundle that an agent gets, and why, as the end of a sentence.
import type { JSX } from 'react';
import type { Reply } from '../../lib/api.ts';
import { Data } from '../../ui/parts.tsx';

export function AssignedBundle({
  resolution: { bundle_name: bundle, source, rule_pattern: pattern },
  none,
}: {
  readonly resolution: Reply<'resolveRule'>;
  /** In place of a bundle. */
  readonly none: string;
}): JSX.Element {
  return (
    <>
      {bundle === null ? none : <Data text={bundle} max={120} />}{' '}
      {source === 'explicit' && '(assigned to this agent directly)'}
      {source === 'rule' && <Data before="(assigned by the rule " text={pattern ?? ''} max={120} after=")" />}
      {source === 'agent_provided' && '(chosen by the agent itself)'}
    </>
  );
}
