// A replay of past calls with two versions of a ruleset. It needs a click, because it keeps the hub busy for some
// seconds.
import type { JSX } from 'react';
import type { HostedReply } from '../../lib/hosted.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { useEnv } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { Button } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { ReplayChanges } from '../../ui/replay-changes.tsx';
import { type ReplayedCall, ReplayTable, replayedCall } from '../../ui/replay-table.tsx';
import { Section } from '../../ui/section.tsx';

type Replay = HostedReply<'hostedReplayVersions'>;

const maxSessions = 200;
const maxResults = 100;

const changes = [
  ['newly_blocked', 'tone-deny', 'would now be denied'],
  ['newly_allowed', 'tone-allow', 'would now be allowed'],
  ['newly_asked', 'tone-ask', 'would now ask a person'],
  ['newly_observed', 'tone-observe', 'would now only be observed'],
] as const;

const words = { allow: 'allow', block: 'block', ask: 'ask', would_block: 'call_would_block' } as const;

export function VersionReplay({
  name,
  base,
  candidate,
}: Readonly<{ name: string; base: number; candidate: number }>): JSX.Element {
  const env = useEnv();
  const replay = useHostedAction('hostedReplayVersions');
  const query = { base, candidate, env, sessions: maxSessions, limit: maxResults };
  return (
    <Section title="Replay of past calls" label>
      <p className="muted">
        A replay compares v{base} with v{candidate} for the newest calls from the last 7 days, in up to{' '}
        {maxSessions} sessions{env ? `, in ${env}` : ''}.
      </p>
      <div>
        <Button
          icon="play"
          busy={replay.isPending}
          onClick={() => replay.mutate({ params: { name }, query })}
        >
          Replay v{candidate} against v{base}
        </Button>
      </div>
      {replay.error && <Failed error={replay.error} />}
      <div role="status">{replay.data && <Sums replay={replay.data} />}</div>
      {replay.data && (
        <ReplayTable calls={replay.data.results.map(callOf)} leftOut={replay.data.results_left_out} />
      )}
    </Section>
  );
}

function Sums({ replay }: { readonly replay: Replay }): JSX.Element {
  const { totals, calls_seen: callCount, calls_in_window: all, skipped_rules: skipped } = replay;
  if (callCount === 0) return <p>No agent reported a call in this period.</p>;
  return (
    <>
      <p className="numbers">
        {callCount < all ? `${count(callCount)} of ${count(all)} calls` : counted(callCount, 'call')}:{' '}
        <ReplayChanges changes={changes} totals={totals} />
        {totals.uncertain > 0 && `; ${count(totals.uncertain)} uncertain`}.
      </p>
      {replay.truncated && (
        <p className="field-error">
          The time limit ended the replay before it checked all calls. Replay again.
        </p>
      )}
      {skipped.candidate > 0 && (
        <p className="muted">
          {counted(skipped.candidate, 'post rule')} left out: the hub does not store tool results.
        </p>
      )}
    </>
  );
}

const callOf = (one: Replay['results'][number]): ReplayedCall =>
  replayedCall(one, words, one.candidate.rule_id ?? one.base.rule_id);
