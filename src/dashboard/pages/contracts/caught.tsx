// The past calls that a contract would have caught, saved or not: the hub replays the newest calls with the contract
// alone, compared with an empty document.
import { type JSX, useEffect, useRef, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { bundleOfContract } from '../../lib/engine.ts';
import { useOneEnv } from '../../lib/me.ts';
import { useAction } from '../../lib/query.ts';
import { type Env, envs } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Select } from '../../ui/form.tsx';
import { Failed } from '../../ui/query-result.tsx';
import {
  consoleVerdicts,
  ReplayCaveats,
  type ReplayedCall,
  ReplayTable,
  replayedCall,
} from '../../ui/replay-table.tsx';
import { Section } from '../../ui/section.tsx';

const maxCalls = 10_000;
const maxResults = 100;

type Replay = Reply<'replayBundle'>;

export interface CaughtProps {
  readonly id: string;
  readonly type: string;
  readonly text: string;
  /** The text has errors, so a replay is impossible. */
  readonly broken: boolean;
  /** The environment of the contract's call, for a replay at once. Undefined: the replay needs a click. */
  readonly seenIn?: string | undefined;
}

export function Caught({ id, type, text, broken, seenIn }: CaughtProps): JSX.Element {
  const chosen = useOneEnv();
  const [env, setEnv] = useState<Env>(envs.find((one) => one === seenIn) ?? chosen);
  const replay = useAction('replayBundle');
  const bundle = bundleOfContract(id, type, text);
  const [requestKey, setRequestKey] = useState<string | null>(null);
  const ask = (): void => {
    setRequestKey(bundle + env);
    replay.mutate({
      body: { yaml_content: bundle, env, calls: maxCalls, limit: maxResults },
    } as Input<'replayBundle'>);
  };
  const begun = useRef(false);
  useEffect(() => {
    if (seenIn === undefined || broken || begun.current) return;
    begun.current = true;
    ask();
  });
  const isOld = replay.data !== undefined && requestKey !== bundle + env;
  return (
    <Section title="Matching past calls" label>
      <div className="decide-buttons">
        <Select
          compact
          label="Calls from"
          value={env}
          options={envs}
          onValue={(next) => setEnv(next as Env)}
        />
        <ActButton
          operation="replayBundle"
          icon="play"
          busy={replay.isPending}
          disabled={broken}
          onClick={ask}
        >
          {replay.data ? 'Check again' : `Check newest ${count(maxCalls)} calls`}
        </ActButton>
        {isOld && <span className="field-error">These results are for an earlier text. Check again.</span>}
      </div>
      {replay.error && <Failed error={replay.error} />}
      {/* Said to who listens when it comes. */}
      <div role="status">
        {replay.isPending && !replay.data && <p className="muted">Checking past calls…</p>}
        {replay.data && <Sums replay={replay.data} />}
      </div>
      {replay.data && (
        <ReplayTable
          outcome="would match"
          calls={replay.data.results.map(callOf)}
          leftOut={replay.data.results_left_out}
        />
      )}
    </Section>
  );
}

const effects = [
  ['newly_denied', 'tone-deny', 'denied'],
  ['newly_asked', 'tone-ask', 'asked a person about'],
  ['newly_observed', 'tone-observe', 'only observed'],
] as const;

function Sums({ replay }: { readonly replay: Replay }): JSX.Element {
  const { totals, calls_seen: callCount, calls_in_window: all, window } = replay;
  if (replay.skipped_contracts.candidate > 0) {
    return (
      <p>
        This contract checks tool results, which the hub does not store. It cannot be checked against past
        calls.
      </p>
    );
  }
  if (callCount === 0)
    return <p>No agent reported a call in {window.env ?? 'the hub'} in the last 7 days.</p>;
  const caughtEffects = effects.filter(([effect]) => totals[effect] > 0);
  const matchCount = caughtEffects.reduce((sum, [effect]) => sum + totals[effect], 0);
  return (
    <>
      <p className="numbers">
        Among{' '}
        {callCount < all
          ? `the newest ${count(callCount)} of ${count(all)} calls`
          : counted(callCount, 'call')}{' '}
        from the last 7 days in {window.env}, this contract would have{' '}
        {caughtEffects.length === 0
          ? 'matched none'
          : caughtEffects.map(([effect, tone, word], index) => (
              <span key={effect}>
                {index > 0 && ', '}
                {word} <strong className={tone}>{count(totals[effect])}</strong>
              </span>
            ))}
        .{matchCount > 0 && ` It does not match ${count(callCount - matchCount - totals.uncertain)}.`}
      </p>
      <ReplayCaveats uncertain={totals.uncertain} truncated={replay.truncated} />
    </>
  );
}

/** The earlier decision is the recorded one, not the one of the empty document. */
const callOf = (one: Replay['results'][number]): ReplayedCall => ({
  ...replayedCall(one, consoleVerdicts, one.candidate.contract_id),
  before: one.recorded_verdict,
});
