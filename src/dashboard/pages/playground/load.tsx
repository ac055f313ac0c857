// The initial content of the playground: a version of a bundle and a reported call, both from the address.

import { Link } from '@tanstack/react-router';
import { type JSX, useEffect, useEffectEvent, useRef } from 'react';
import type { Reply } from '../../lib/api.ts';
import { rangeOf } from '../../lib/moving-range.ts';
import { usePrefs } from '../../lib/prefs.ts';
import { useCall } from '../../lib/query.ts';
import { useEnv, useFilters } from '../../lib/search.ts';
import { preciseTime } from '../../lib/text.ts';
import { Choice } from '../../ui/choice.tsx';
import { Select } from '../../ui/form.tsx';
import { Button } from '../../ui/parts.tsx';
import { Failed, QueryProblem } from '../../ui/query-result.tsx';
import { useBundleNames } from '../agents/bundle-names.ts';
import { type Call, firstCall, principalFields } from './call.ts';

/** Number of calls in the selection: the newest of the range. */
const newest = 30;

/**
 * Hands on the content that the address names. Only another name replaces the present content, so typed input stays.
 * @param name null: the address names none; empty: not known yet
 * @param from name of the present content
 */
function useLoaded<T>(
  name: string | null,
  content: T | undefined,
  from: string,
  onContent: (content: T, name: string) => void,
): void {
  const loadedName = useRef(from);
  const load = useEffectEvent(onContent);
  useEffect(() => {
    if (name === null) loadedName.current = '';
    if (content === undefined || !name || name === loadedName.current) return;
    loadedName.current = name;
    load(content, name);
  }, [name, content]);
}

interface LoadBundleProps {
  /** Name and version of the initial text, such as `shop 3`; empty for the starter. */
  readonly from: string;
  readonly changed: boolean;
  readonly onText: (text: string, from: string) => void;
  readonly onStarter: () => void;
}

export function LoadBundle({ from, changed, onText, onStarter }: LoadBundleProps): JSX.Element | null {
  const [{ bundle = '', version = '' }, change] = useFilters();
  const { query: bundlesQuery, bundles, names, onSearch } = useBundleNames(bundle || null);
  const versions = useCall(
    'listBundleVersions',
    { params: { name: bundle }, query: { limit: 200 } },
    { enabled: bundle !== '' },
  );
  const selectedVersion = version || String(versions.data?.[0]?.version ?? '');
  const yaml = useCall(
    'getBundleYaml',
    { params: { name: bundle, version: selectedVersion } },
    { enabled: bundle !== '' && selectedVersion !== '' },
  );
  const key = bundle === '' || selectedVersion === '' ? '' : `${bundle} ${selectedVersion}`;
  useLoaded(bundle === '' ? null : key, yaml.data, from, onText);
  // Nothing waits for the version, because the starter is already there.
  if (!bundlesQuery.data) return <QueryProblem query={bundlesQuery} />;
  if (names.length === 0) return null;
  const latestVersions = new Map(bundles.map((one) => [one.name, one.latest_version]));
  const labelOf = (name: string): string => {
    const latest = latestVersions.get(name);
    return latest === undefined ? name : `${name} (${latest})`;
  };
  return (
    <>
      <QueryProblem query={bundlesQuery} />
      <div className="filter-bar">
        <Choice
          label="Load bundle"
          value={bundle}
          options={[['', 'Starter bundle'], ...names.map((name) => [name, labelOf(name)] as const)]}
          onSearch={onSearch}
          onValue={(name) => {
            change({ bundle: name, version: undefined });
            if (name === '') onStarter();
          }}
        />
        {bundle !== '' && (versions.data?.length ?? 0) > 0 && (
          <Select
            label="Version"
            value={selectedVersion}
            options={(versions.data ?? []).map((one) => [
              String(one.version),
              `v${one.version}${one.deployed_envs.length > 0 ? ` (${one.deployed_envs.join(', ')})` : ''}`,
            ])}
            onValue={(next) => change({ version: next })}
          />
        )}
        {changed && (
          <Button
            onClick={() => {
              if (key !== '' && yaml.data !== undefined) onText(yaml.data, key);
              else onStarter();
            }}
          >
            Discard changes
          </Button>
        )}
      </div>
      {bundle !== '' && <QueryProblem query={versions} />}
      {yaml.error && <Failed error={yaml.error} onRetry={() => void yaml.refetch()} />}
    </>
  );
}

type Event = Reply<'getEvent'>;

const callOfEvent = ({ tool_name: tool, payload, env }: Event): Call => ({
  ...firstCall,
  tool,
  args: JSON.stringify(payload?.tool_args ?? {}, null, 2),
  environment: env,
  ...principalFields(payload?.principal ?? {}),
});

export function LoadCall({
  from,
  onCall,
}: {
  /** The event whose call is in the form; empty for none. */
  readonly from: string;
  readonly onCall: (call: Call, from: string) => void;
}): JSX.Element {
  const [search, change] = useFilters();
  const { event = '' } = search;
  const env = useEnv();
  const { utc } = usePrefs();
  const query = { limit: newest, ...(env ? { env } : {}) };
  const list = useCall('searchEvents', { query }, { moving: rangeOf(search) });
  const eventQuery = useCall('getEvent', { params: { event_id: event } }, { enabled: event !== '' });
  useLoaded(event || null, eventQuery.data, from, (data) => onCall(callOfEvent(data), event));
  const rows = list.data ?? [];
  const all = eventQuery.data && !rows.some(({ id }) => id === event) ? [eventQuery.data, ...rows] : rows;
  return (
    <>
      <div className="filter-bar">
        <Select
          label="Load reported call"
          value={event}
          options={[
            ['', list.data && all.length === 0 ? 'No calls in this range' : 'New call'],
            ...all.map(
              (one) =>
                [
                  one.id,
                  `${one.tool_name.slice(0, 60)}, ${one.agent_id.slice(0, 60)}, ${preciseTime(Date.parse(one.timestamp), utc)}`,
                ] as const,
            ),
          ]}
          onValue={(next) => change({ event: next })}
        />
        <Link to="/explore" className="button">
          Find call
        </Link>
      </div>
      {eventQuery.error && <Failed error={eventQuery.error} onRetry={() => void eventQuery.refetch()} />}
      <QueryProblem query={list} />
    </>
  );
}
