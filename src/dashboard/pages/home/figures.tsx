// The figures of the overview: what waits, the fleet, and the calls of the range beside those of the range before.
import { Link } from '@tanstack/react-router';
import type { JSX, ReactNode } from 'react';
import type { Reply } from '../../lib/api.ts';
import { isCompared } from '../../lib/range.ts';
import { type Env, useFilters } from '../../lib/search.ts';
import { type Calls, totalsOf } from '../../lib/series.ts';
import { useStore } from '../../lib/store.ts';
import { count, duration } from '../../lib/text.ts';
import { useNow } from '../../lib/ticker.ts';
import { fleetByEnv, fleetOf } from '../../live/fleet.ts';
import { TimeWords } from '../../ui/parts.tsx';
import { Ribbon, Sparkline, sumOf } from '../../ui/ribbon.tsx';

const noCalls: Calls = { allowed: 0, denied: 0, would_deny: 0, asked: 0 };

const percent = (part: number, whole: number): number => (whole === 0 ? 0 : (part / whole) * 100);
const shareText = (share: number): string => (share > 0 && share < 0.1 ? '< 0.1' : share.toFixed(1));
const signed = (value: number, text: string): string =>
  value > 0 ? `+${text}` : value < 0 ? `−${text}` : '±0';

interface FiguresProps {
  readonly stats: Reply<'statsOverview'>;
  /** For the sparkline; undefined while it loads. */
  readonly series: Reply<'statsSeries'> | undefined;
  readonly env: Env | undefined;
}

export function Figures({ stats, series, env }: FiguresProps): JSX.Element {
  // The stream is newer than the answer.
  const fleet = fleetOf(useStore(fleetByEnv), env) ?? stats.agents;
  const isOn = isCompared(useFilters()[0]);
  // An answer from before the comparison was turned on has no figures of that range.
  const hasPrevious = isOn && stats.previous !== undefined;
  const { calls = noCalls, previous = noCalls, agents, pending_approvals: pending } = stats;
  const [total, before] = [sumOf(calls), sumOf(previous)];
  const [share, shareBefore] = [percent(calls.denied, total), percent(previous.denied, before)];
  const growth = percent(total - before, before);
  const line = series && totalsOf(series);
  return (
    <div className="figures">
      <Figure name="Pending approvals" value={count(pending)} to="/inbox">
        {pending === 0 ? 'none' : <Deadline at={stats.next_deadline ?? null} />}
      </Figure>
      <Figure
        name="Connected agents"
        value={fleet ? count(fleet.connected) : '–'}
        to="/fleet"
        search={{ view: 'agents', connected: 'true' }}
      >
        {agents && `of ${count(Math.max(agents.known, fleet?.connected ?? 0))} known`}
      </Figure>
      <Figure
        name="Out of date"
        value={fleet ? count(fleet.drift) : '–'}
        to="/fleet"
        search={{ view: 'agents', status: 'drift' }}
      >
        {fleet && `${count(fleet.current)} current, ${count(fleet.unknown)} unknown`}
      </Figure>
      <Figure name="Calls" value={count(total)} to="/explore">
        {line && <Sparkline {...line} max={Math.max(...line.totals)} />}
        {hasPrevious && (
          <span>{before === 0 ? 'none in the range before' : `${signed(growth, compact(growth))} %`}</span>
        )}
      </Figure>
      <Figure name="Denied" value={count(calls.denied)} to="/explore" search={{ q: 'verdict:denied' }}>
        <Ribbon calls={calls} />
        <span>
          {total === 0 ? 'no calls' : `${shareText(share)} % of calls`}
          {hasPrevious &&
            total > 0 &&
            before > 0 &&
            `, ${signed(share - shareBefore, Math.abs(share - shareBefore).toFixed(1))}`}
        </span>
      </Figure>
    </div>
  );
}

const compact = (value: number): string => count(Math.round(Math.abs(value)));

function Deadline({ at }: { readonly at: string | null }): JSX.Element | null {
  const now = useNow(1_000);
  const left = at === null ? 0 : Date.parse(at) - now;
  return at !== null && left > 0 ? <TimeWords at={at}>the next expires in {duration(left)}</TimeWords> : null;
}

function Figure({
  name,
  value,
  to,
  search = {},
  children,
}: {
  readonly name: string;
  readonly value: string;
  readonly to: string;
  readonly search?: { readonly [name: string]: string };
  readonly children?: ReactNode;
}): JSX.Element {
  return (
    <Link to={to} search={search as never} className="figure">
      <span className="figure-name">{name}</span>
      <span className="figure-value">{value}</span>
      <span className="figure-note">{children}</span>
    </Link>
  );
}
