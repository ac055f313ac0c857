// A replay of past calls with a document, compared with the deployed one or with another version. It keeps the hub busy
// for some seconds, so only the plan of a deployment begins it without a click.
import { type JSX, type ReactNode, useEffect, useRef } from 'react';
import type { ApiError, Input, Operation, Reply } from '../../lib/api.ts';
import type { HostedOperation, HostedReply } from '../../lib/hosted.ts';
import { useHostedAction } from '../../lib/hosted-query.ts';
import { useRefusal } from '../../lib/may.ts';
import { useAction } from '../../lib/query.ts';
import { type Env as Environment, useEnv } from '../../lib/search.ts';
import { count, counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Failed } from '../../ui/query-result.tsx';
import {
  consoleVerdicts,
  ReplayCaveats,
  type ReplayedCall,
  ReplayTable,
  replayedCall,
} from '../../ui/replay-table.tsx';
import { Section } from '../../ui/section.tsx';
import type { VersionReplayProps } from './detail.tsx';

const maxCalls = 10_000;
const maxSessions = 200;
const maxResults = 100;

type Answer = Reply<'replayBundle'> | HostedReply<'hostedReplayVersions'>;

/** The changed decisions. The words of the two APIs differ for denials alone. */
function changesOf({ totals }: Answer): readonly (readonly [calls: number, tone: string, words: string])[] {
  return [
    [
      'newly_denied' in totals ? totals.newly_denied : totals.newly_blocked,
      'tone-deny',
      'would now be denied',
    ],
    [totals.newly_allowed, 'tone-allow', 'would now be allowed'],
    [totals.newly_asked, 'tone-ask', 'would now ask a person'],
    [totals.newly_observed, 'tone-observe', 'would now only be observed'],
  ];
}

interface ReplayProps {
  readonly operation: Operation | HostedOperation;
  readonly act: string;
  readonly onAct: () => void;
  readonly by: { readonly isPending: boolean; readonly error: ApiError | null };
  readonly data: Answer | undefined;
  readonly calls: readonly ReplayedCall[] | undefined;
  /** `contract` or `rule`. */
  readonly noun: string;
  /** In place of the totals of no calls. */
  readonly none: string;
  /** The explanation before the first replay. */
  readonly children: ReactNode;
}

function Replay({ operation, act, onAct, by, data, calls, noun, none, children }: ReplayProps): JSX.Element {
  return (
    <Section title="Replay of past calls" label>
      <div className="decide-buttons">
        <ActButton operation={operation} icon="play" busy={by.isPending} onClick={onAct}>
          {act}
        </ActButton>
      </div>
      {by.error && <Failed error={by.error} />}
      {/* Announced when it arrives, in the place of the explanation: the buttons below keep theirs. */}
      <div role="status">
        {data === undefined ? (
          <p className="muted">{children}</p>
        ) : data.calls_seen === 0 ? (
          <p>{none}</p>
        ) : (
          <Totals answer={data} noun={noun} />
        )}
      </div>
      {data && calls && <ReplayTable calls={calls} leftOut={data.results_left_out} />}
    </Section>
  );
}

function Totals({ answer, noun }: { readonly answer: Answer; readonly noun: string }): JSX.Element {
  const { totals, calls_seen: callCount, calls_in_window: all } = answer;
  const { candidate: skipped } = 'skipped_rules' in answer ? answer.skipped_rules : answer.skipped_contracts;
  return (
    <>
      <p className="numbers">
        {callCount < all ? `Newest ${count(callCount)} of ${count(all)} calls` : counted(callCount, 'call')}:{' '}
        {count(totals.unchanged)} unchanged
        {changesOf(answer)
          .filter(([calls]) => calls > 0)
          .map(([calls, tone, words]) => (
            <span key={words}>
              , <strong className={tone}>{count(calls)}</strong> {words}
            </span>
          ))}
        .
      </p>
      <ReplayCaveats uncertain={totals.uncertain} truncated={answer.truncated} />
      {skipped > 0 && (
        <p className="muted">
          {counted(skipped, `post ${noun}`)} left out: the hub does not store the tool results that post{' '}
          {noun}s check.
        </p>
      )}
    </>
  );
}

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
  const version = base === undefined ? {} : { base_version: base };
  const body = { yaml_content: yaml, env, calls: maxCalls, limit: maxResults, ...version };
  const ask = (): void => replay.mutate({ body } as Input<'replayBundle'>);
  const cannot = useRefusal('replayBundle');
  const hasBegun = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each document
  useEffect(() => {
    if (!isAutomatic || hasBegun.current || cannot !== null) return;
    hasBegun.current = true;
    ask();
  }, [isAutomatic, cannot]);
  return (
    <Replay
      operation="replayBundle"
      act={`Replay newest ${count(maxCalls)} calls`}
      onAct={ask}
      by={replay}
      data={replay.data}
      calls={replay.data?.results.map((one) =>
        replayedCall(one, consoleVerdicts, one.candidate.contract_id ?? one.base.contract_id),
      )}
      noun="contract"
      none="No agent reported a call in this environment in the last 7 days."
    >
      A replay compares this document with{' '}
      {base === undefined ? `the one deployed to ${env}` : `version ${base}`} for the newest {count(maxCalls)}{' '}
      calls in {env} from the last 7 days. A replay deploys nothing.
    </Replay>
  );
}

const hostedVerdicts = {
  allow: 'allow',
  block: 'block',
  ask: 'ask',
  would_block: 'call_would_block',
} as const;

/** Needs a React key of the versions and the environment, because a result belongs to both. */
export function RulesetReplay({ name, base, candidate }: VersionReplayProps): JSX.Element {
  const env = useEnv();
  const replay = useHostedAction('hostedReplayVersions');
  const query = { base, candidate, env, sessions: maxSessions, limit: maxResults };
  return (
    <Replay
      operation="hostedReplayVersions"
      act={`Replay v${candidate} against v${base}`}
      onAct={() => replay.mutate({ params: { name }, query })}
      by={replay}
      data={replay.data}
      calls={replay.data?.results.map((one) =>
        replayedCall(one, hostedVerdicts, one.candidate.rule_id ?? one.base.rule_id),
      )}
      noun="rule"
      none="No agent reported a call in this period."
    >
      A replay compares v{base} with v{candidate} for the newest calls from the last 7 days, in up to{' '}
      {maxSessions} sessions{env ? `, in ${env}` : ''}.
    </Replay>
  );
}
