// The calls of a replay whose decision differs or is uncertain, as a table, and the limits of its totals.
import type { JSX } from 'react';
import type { Reply } from '../lib/api.ts';
import { count, counted } from '../lib/text.ts';
import { instantColumn, nameColumn, textColumn, verdictColumn } from './columns.tsx';
import { Name } from './parts.tsx';
import { type Column, Table } from './table.tsx';

export interface ReplayedCall {
  readonly id: string;
  readonly tool: string;
  readonly agent: string;
  readonly at: string;
  /** Words for `Verdict`. */
  readonly before: string;
  readonly after: string;
  readonly contract: string | null;
  readonly message: string | null;
  /** Reasons why the result is uncertain; empty if it is certain. */
  readonly doubts: readonly string[];
}

type Doubt = Reply<'replayBundle'>['results'][number]['uncertain_because'][number];

const doubts: { readonly [D in Doubt]: string } = {
  tool: 'truncated tool name',
  arguments: 'redacted or truncated arguments',
  principal: 'incomplete principal',
  metadata: 'metadata stored only by the agent',
  env: 'environment variables stored only by the agent',
  custom: 'custom operators or selectors of the agent',
  session: 'unknown limit usage',
  approval: 'a person decides',
};

/** Maps each decision of the console API to a word for `Verdict`. */
export const consoleVerdicts = {
  allow: 'allow',
  deny: 'deny',
  approve: 'approve',
  would_deny: 'call_would_deny',
} as const;

/** Fields of a call that both APIs return. Only the name of the deciding contract differs. */
interface Judged<D extends string> {
  readonly event_id: string;
  readonly tool_name: string;
  readonly agent_id: string;
  readonly timestamp: string;
  readonly base: { readonly decision: D };
  readonly candidate: { readonly decision: D; readonly message: string | null };
  readonly uncertain: boolean;
  readonly uncertain_because: readonly Doubt[];
}

/** @param verdicts maps each decision to a word for `Verdict` */
export const replayedCall = <D extends string>(
  one: Judged<D>,
  verdicts: { readonly [decision in D]: string },
  contract: string | null,
): ReplayedCall => ({
  id: one.event_id,
  tool: one.tool_name,
  agent: one.agent_id,
  at: one.timestamp,
  before: verdicts[one.base.decision],
  after: verdicts[one.candidate.decision],
  contract,
  message: one.candidate.message,
  doubts: one.uncertain ? one.uncertain_because.map((doubt) => doubts[doubt]) : [],
});

const doubtsOf = ({ doubts }: ReplayedCall): string => doubts.join('; ');

const columns: readonly Column<ReplayedCall>[] = [
  {
    ...nameColumn<ReplayedCall>('tool', 'Tool', (one) => one.tool, 1.5),
    // A new tab: the table is part of forms and plans, whose input must not get lost.
    cell: (one) => (
      <a href={`/dashboard/events/${encodeURIComponent(one.id)}`} target="_blank" rel="noreferrer">
        <Name text={one.tool} />
        <span className="heard"> (opens in a new tab)</span>
      </a>
    ),
  },
  verdictColumn('before', 'Before', (one) => one.before, 1.3),
  verdictColumn('after', 'After', (one) => one.after, 1.3),
  nameColumn('contract', 'Contract', (one) => one.contract ?? '', 1.4),
  textColumn(120)('message', 'Message', (one) => one.message, 2),
  {
    key: 'uncertain',
    label: 'Reason for uncertainty',
    width: 2,
    sort: doubtsOf,
    cell: (one) => <span className="muted">{doubtsOf(one) || '–'}</span>,
  },
  nameColumn('agent', 'Agent', (one) => one.agent, 1.4),
  instantColumn('when', 'Time', (one) => one.at),
];

export function ReplayTable({
  calls,
  leftOut,
  outcome = 'with a different decision',
}: {
  readonly calls: readonly ReplayedCall[];
  readonly leftOut: number;
  /** End of the sentence about the number of calls. */
  readonly outcome?: string;
}): JSX.Element | null {
  if (calls.length === 0) return null;
  return (
    <>
      <Table
        bar={`${counted(calls.length, 'call')} ${outcome}`}
        name={`calls that ${outcome}`}
        sortAs="calls_sort"
        rows={calls}
        columns={columns}
        keyOf={(one) => one.id}
      />
      {leftOut > 0 && <p className="muted numbers">and {count(leftOut)} more</p>}
    </>
  );
}

export interface ReplayCaveatsProps {
  /** Number of uncertain results. */
  readonly uncertain: number;
  /** The time limit ended the replay before the last call. */
  readonly truncated: boolean;
}

export function ReplayCaveats({ uncertain, truncated }: ReplayCaveatsProps): JSX.Element {
  return (
    <>
      {uncertain > 0 && (
        <p className="numbers">
          {count(uncertain)} uncertain: a person decides, or the record of the call is incomplete.
        </p>
      )}
      {truncated && (
        <p className="field-error">
          The time limit ended the replay before it checked all calls. The totals cover checked calls only.
        </p>
      )}
    </>
  );
}
