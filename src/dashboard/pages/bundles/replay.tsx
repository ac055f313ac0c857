// A replay of past calls with a document, compared with the deployed one or with another version. It keeps the hub busy
// for some seconds, so only the plan of a deployment begins it without a click.
import { type JSX, useEffect, useRef } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useRefusal } from '../../lib/may.ts';
import { useAction } from '../../lib/query.ts';
import type { Env as Environment } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { ReplayCaveats, ReplayChanges } from '../../ui/replay-changes.tsx';
import { consoleVerdicts, type ReplayedCall, ReplayTable, replayedCall } from '../../ui/replay-table.tsx';
import { Section } from '../../ui/section.tsx';

type Replay = Reply<'replayBundle'>;
type Result = Replay['results'][number];

const maxCalls = 10_000;
const maxResults = 100;

/** Needs a React key of the document and the environment, because a result belongs to both. */
export function ReplayPanel({
  yaml,
  env,
  base,
  isAutomatic = false,
}: {
  readonly yaml: string;
  readonly env: Environment;
  /** The version for the comparison. Default: the deployed one. */
  readonly base?: number;
  /** True if the replay begins without a click. */
  readonly isAutomatic?: boolean;
}): JSX.Element {
  const replay = useAction('replayBundle');
  const ask = (): void =>
    replay.mutate({
      body: {
        yaml_content: yaml,
        env,
        calls: maxCalls,
        limit: maxResults,
        ...(base === undefined ? {} : { base_version: base }),
      },
    } as Input<'replayBundle'>);
  const cannot = useRefusal('replayBundle');
  const hasBegun = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each document
  useEffect(() => {
    if (!isAutomatic || hasBegun.current || cannot !== null) return;
    hasBegun.current = true;
    ask();
  }, [isAutomatic, cannot]);
  return (
    <Section title="Replay of past calls" label>
      <div className="decide-buttons">
        <ActButton operation="replayBundle" icon="play" busy={replay.isPending} onClick={ask}>
          Replay newest {count(maxCalls)} calls
        </ActButton>
      </div>
      {replay.error && <Failed error={replay.error} />}
      {/* Announced when it arrives, in the place of the explanation: the buttons below keep theirs. */}
      <div role="status">
        {replay.data ? (
          <Sums replay={replay.data} />
        ) : (
          <p className="muted">
            A replay compares this document with{' '}
            {base === undefined ? `the one deployed to ${env}` : `version ${base}`} for the newest{' '}
            {count(maxCalls)} calls in {env} from the last 7 days. A replay deploys nothing.
          </p>
        )}
      </div>
      {replay.data && (
        <ReplayTable calls={replay.data.results.map(callOf)} leftOut={replay.data.results_left_out} />
      )}
    </Section>
  );
}

const changes = [
  ['newly_denied', 'tone-deny', 'would now be denied'],
  ['newly_allowed', 'tone-allow', 'would now be allowed'],
  ['newly_asked', 'tone-ask', 'would now ask a person'],
  ['newly_observed', 'tone-observe', 'would now only be observed'],
] as const;

function Sums({ replay }: { readonly replay: Replay }): JSX.Element {
  const { totals, calls_seen: callCount, calls_in_window: all } = replay;
  const skipped = replay.skipped_contracts.candidate;
  if (callCount === 0) return <p>No agent reported a call in this environment in the last 7 days.</p>;
  return (
    <>
      <p className="numbers">
        {callCount < all ? `Newest ${count(callCount)} of ${count(all)} calls` : counted(callCount, 'call')}:{' '}
        <ReplayChanges changes={changes} totals={totals} />.
      </p>
      <ReplayCaveats uncertain={totals.uncertain} truncated={replay.truncated} />
      {skipped > 0 && (
        <p className="muted">
          {counted(skipped, 'post contract')} left out: the hub does not store the tool results that post
          contracts check.
        </p>
      )}
    </>
  );
}

const callOf = (one: Result): ReplayedCall =>
  replayedCall(one, consoleVerdicts, one.candidate.contract_id ?? one.base.contract_id);
