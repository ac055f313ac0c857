// Flags above a chart over time: deployments, roll-backs and undeploys in the range of the page, each with a link to
// its change.
import { Link } from '@tanstack/react-router';
import { type JSX, useEffect, useMemo } from 'react';
import { linkTo } from '../lib/address.ts';
import type { Reply } from '../lib/api.ts';
import { rangeOf } from '../lib/moving-range.ts';
import { usePrefs } from '../lib/prefs.ts';
import { readOn, usePageRows, usePages } from '../lib/query.ts';
import { useEnv, useFilters } from '../lib/search.ts';
import { middleCut, minuteTime, visible } from '../lib/text.ts';
import './deployment-markers.css';
import { chartEnd } from './chart.ts';

interface DeploymentMarker {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The flag: `v8`, `↶ v7`, `✕ v8`. */
  readonly flag: string;
  readonly verb: 'deployed' | 'rolled back' | 'undeployed';
  readonly words: string;
}

const cut = (text: string): string => middleCut(visible(text), 60);

/** Markers of a deployment: its beginning, and its end if an undeploy ended it. */
function markersOf(one: Reply<'listDeployments'>[number]): readonly DeploymentMarker[] {
  const { id, bundle_version: version, env, kind, undeployed_at: undeployedAt } = one;
  const name = `${cut(one.bundle_name)} v${version}`;
  const isBack = kind === 'rollback';
  const marker: DeploymentMarker = {
    id,
    at: Date.parse(one.created_at),
    flag: `${isBack ? '↶ ' : ''}v${version}`,
    verb: isBack ? 'rolled back' : 'deployed',
    words: `${name} to ${env} by ${cut(one.deployed_by)}`,
  };
  if (undeployedAt === null) return [marker];
  const by = one.undeployed_by === null ? '' : ` by ${cut(one.undeployed_by)}`;
  return [
    marker,
    {
      id,
      at: Date.parse(undeployedAt),
      flag: `✕ v${version}`,
      verb: 'undeployed',
      words: `${name} from ${env}${by}`,
    },
  ];
}

/** The newest in a range. Flags of earlier ones are left out. */
const maxDeployments = 2_000;

/**
 * The markers of the range and the environment in the address, the earliest first, and their times for the chart.
 * @param from the chart's ends, in epoch milliseconds
 */
export function useDeploymentMarkers(from: number, until: number) {
  const env = useEnv();
  const [search] = useFilters();
  const query = { limit: 200, ...(env ? { env } : {}) };
  const deploymentsQuery = usePages('listDeployments', { query }, { moving: rangeOf(search), keep: true });
  const deployments = usePageRows(deploymentsQuery, ({ reply }) => reply);
  useEffect(() => {
    if (deployments.length < maxDeployments) readOn(deploymentsQuery);
  });
  return useMemo(() => {
    const markers = deployments
      .flatMap(markersOf)
      .filter(({ at }) => at >= from && at < until)
      .sort((a, b) => a.at - b.at);
    return { markers, marks: markers.map(({ at }) => at) };
  }, [deployments, from, until]);
}

/** Share of the axis below which neighbours become one marker with their number. */
const together = 0.035;
/** Share of the axis from which a flag hangs to the left of its time: it has no room at the right. */
const nearEnd = 0.85;

export interface DeploymentMarkersProps {
  readonly markers: readonly DeploymentMarker[];
  readonly from: number;
  readonly until: number;
  /** Width of the labels at the left of the chart, in pixels. */
  readonly labelWidth: number;
}

export function DeploymentMarkers({ markers, from, until, labelWidth }: DeploymentMarkersProps): JSX.Element {
  const { utc } = usePrefs();
  const share = (at: number): number => (at - from) / (until - from);
  const groups: DeploymentMarker[][] = [];
  for (const marker of markers) {
    const last = groups.at(-1);
    if (last?.[0] && share(marker.at) - share(last[0].at) < together) last.push(marker);
    else groups.push([marker]);
  }
  return (
    <ul
      className="markers"
      aria-label="Deployments in this range"
      style={{ marginLeft: `${labelWidth}px`, marginRight: `${chartEnd}px` }}
    >
      {groups.map((group) => {
        const [first] = group;
        if (!first) return null;
        const words = group.map(({ at, verb, words: own }) => `${minuteTime(at, utc)} ${verb} ${own}`);
        const link = group.length === 1 ? linkTo.deployment(first.id) : { to: '/changes' };
        const place = share(first.at);
        const isNearEnd = place > nearEnd;
        return (
          <li
            key={`${first.id} ${first.verb}`}
            className={isNearEnd ? 'marker-left' : undefined}
            style={isNearEnd ? { right: `${(1 - place) * 100}%` } : { left: `${place * 100}%` }}
          >
            <Link {...link} className="marker" title={words.join('\n')}>
              {group.length === 1 ? first.flag : group.length}
              <span className="heard">
                {group.length === 1 ? ': ' : ' changes: '}
                {words.join(', ')}
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
