// Audit events over HTTP against the real process: every filter and free text, pages by cursor, changed cursors,
// outcomes, histogram, manifest.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rowsOfRun } from '../runs.ts';
import { HubProcess } from './process.ts';
import { SharedHub } from './shared-hub.ts';

const hub = new SharedHub();
let cookie = '';
const keys: { [env: string]: string } = {};

const at = (minute: number): string => new Date(Date.UTC(2026, 4, 1, 12, minute)).toISOString();
const event = (call_id: string, minute: number, more: object = {}) => ({
  call_id,
  agent_id: 'reader',
  tool_name: 'read_file',
  verdict: 'call_allowed',
  mode: 'enforce',
  timestamp: at(minute),
  ...more,
});
const ingest = async (events: object[], env = 'production', more: object = {}) => {
  const answer = await hub.call('POST', '/api/v1/events', {
    key: keys[env] ?? '',
    agent: 'a',
    body: { events, ...more },
  });
  expect(answer.status).toBe(200);
  return answer.body;
};
const search = (query: string, env?: string) =>
  hub.call('GET', `/api/v1/events${query}`, env === undefined ? { cookie } : { key: keys[env] ?? '' });
const ids = async (query: string, env?: string): Promise<string[]> =>
  (await search(query, env)).body.map(({ call_id }: { call_id: string }) => call_id);

beforeAll(async () => {
  await hub.start();
  cookie = await hub.admin();
  for (const env of ['production', 'staging']) keys[env] = (await hub.key(cookie, env)).key;
  await ingest([
    event('e1', 1),
    event('e2', 2, { agent_id: 'writer', tool_name: 'write_file' }),
    event('e3', 3, {
      verdict: 'call_denied',
      payload: { decision_name: 'No-Secrets', environment: 'staging' },
    }),
    event('e4', 4, { verdict: 'call_would_deny', mode: 'observe', payload: { decision_name: 'quota 100%' } }),
    event('e5', 65, { verdict: 'call_approval_requested' }),
  ]);
  await ingest([event('e6', 6)], 'staging');
});
afterAll(async () => {
  await hub.remove();
});

describe('filters', () => {
  const cases: { readonly [query: string]: readonly string[] } = {
    '': ['e5', 'e6', 'e4', 'e3', 'e2', 'e1'],
    '?agent_id=writer': ['e2'],
    '?agent_id=WRITER': [],
    '?tool_name=write_file': ['e2'],
    '?verdict=call_denied': ['e3'],
    '?mode=observe': ['e4'],
    '?env=staging': ['e6'],
    [`?since=${at(4)}`]: ['e5', 'e6', 'e4'],
    [`?until=${at(3)}`]: ['e3', 'e2', 'e1'],
    [`?since=${at(2)}&until=${at(2)}`]: ['e2'],
    [`?since=${encodeURIComponent('2026-05-01T14:04:00+02:00')}`]: ['e5', 'e6', 'e4'],
    '?limit=2': ['e5', 'e6'],
    '?search=secrets': ['e3'],
    '?search=WRITE': ['e2'],
    '?search=100%25': ['e4'],
    '?search=%25': ['e4'],
    '?search=_': ['e5', 'e6', 'e4', 'e3', 'e2', 'e1'],
    '?search=staging': [],
    '?agent_id=reader&mode=enforce&verdict=call_allowed&search=read': ['e6', 'e1'],
  };
  it.each(Object.entries(cases))('%s', async (query, expected) => {
    expect(await ids(query)).toEqual(expected);
  });

  it('of a key see its environment alone; naming another is refused', async () => {
    expect(await ids('', 'staging')).toEqual(['e6']);
    expect(await ids('?env=production', 'production')).toEqual(['e5', 'e4', 'e3', 'e2', 'e1']);
    expect((await search('?env=production', 'staging')).status).toBe(403);
  });
});

describe('pages', () => {
  it('follow the cursor and the link to the end, each event once, also while others arrive', async () => {
    const seen: string[] = [];
    let next: string | null = '/api/v1/events?limit=2';
    for (let i = 0; next !== null && i < 10; i++) {
      const page = await hub.call('GET', next, { cookie });
      expect(page.status).toBe(200);
      seen.push(...page.body.map(({ call_id }: { call_id: string }) => call_id));
      const link = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '');
      expect(link === null).toBe(page.headers.get('x-next-cursor') === null);
      next = link?.[1] ?? null;
      if (i === 0) await ingest([event('late', 120)]);
    }
    expect(seen).toEqual(['e5', 'e6', 'e4', 'e3', 'e2', 'e1']);
  });

  it('refuse every cursor that was changed, made up, or is of another tenant or master secret', async () => {
    const cursor = (await search('?limit=1')).headers.get('x-next-cursor') ?? '';
    expect(cursor).toMatch(/^[\w-]{60,}$/);
    expect((await search(`?limit=1&cursor=${cursor}`)).status).toBe(200);
    const changed = [...cursor].map(
      (c, i) => `${cursor.slice(0, i)}${c === 'A' ? 'B' : 'A'}${cursor.slice(i + 1)}`,
    );
    const others = [
      'A',
      'A'.repeat(80),
      `${cursor}A`,
      `${cursor}=`,
      cursor.slice(1),
      cursor.slice(0, -1),
      cursor.toUpperCase(),
    ];
    for (const bad of [...rowsOfRun(changed, 12), ...others]) {
      const { status, body } = await search(`?limit=1&cursor=${encodeURIComponent(bad)}`);
      expect({ bad, status, code: body.code }).toEqual({ bad, status: 400, code: 'bad_request' });
    }
    const other = new HubProcess({ LOG_LEVEL: 'warn' });
    await other.start();
    const answer = await other.call('GET', `/api/v1/events?cursor=${cursor}`, {
      cookie: await other.admin(),
    });
    await other.remove();
    expect(answer.status).toBe(400);
  });
});

it('a repeat is a duplicate, and what it says anew is an outcome of the first; both verdicts find it', async () => {
  const first = event('o1', 10);
  const executed = {
    ...first,
    verdict: 'call_executed',
    timestamp: at(11),
    payload: { decision_source: 'hook', decision_name: 'h', reason: 'r' },
  };
  expect(await ingest([first])).toEqual({ accepted: 1, duplicates: 0 });
  expect(await ingest([executed, first, executed])).toEqual({ accepted: 0, duplicates: 3 });
  expect(await ingest([executed], 'staging')).toEqual({ accepted: 0, duplicates: 1 });
  const [stored] = (await search('?verdict=call_executed')).body;
  expect(stored).toMatchObject({ call_id: 'o1', verdict: 'call_allowed', env: 'production' });
  expect(stored.outcomes).toEqual([
    {
      verdict: 'call_executed',
      timestamp: at(11),
      decision_source: 'hook',
      decision_name: 'h',
      reason: 'r',
      sent_by: 'a',
    },
  ]);
  expect(await ids(`?verdict=call_allowed&since=${at(10)}&until=${at(10)}`)).toEqual(['o1']);
});

it('the histogram counts by class, in aligned buckets, until exclusive', async () => {
  const histogram = (query: string) =>
    hub.call('GET', `/api/v1/events/histogram?since=${at(0)}&${query}`, { cookie });
  expect(
    (await histogram(`until=${at(65)}&bucket_seconds=3600&env=production&agent_id=reader`)).body,
  ).toEqual([{ bucket_start: at(0), allowed: 2, denied: 1, pending: 0, observed: 1 }]);
  expect(
    (await histogram(`until=${at(66)}&bucket_seconds=3600&verdict=call_approval_requested`)).body,
  ).toEqual([{ bucket_start: at(60), allowed: 0, denied: 0, pending: 1, observed: 0 }]);
  expect((await histogram(`until=${at(0)}`)).body).toEqual([]);
});

it('a manifest is kept of its agent, and one of another agent is refused alone', async () => {
  const manifest = {
    agent_id: 'local',
    policy_version: 'v1',
    contracts: [{ id: 'c', type: 'pre', tool: ['x'], mode: 'enforce' }],
  };
  await ingest([event('m1', 20, { agent_id: 'local' })], 'production', { agent_manifest: manifest });
  const registered = (await hub.call('GET', '/api/v1/agent-registrations', { cookie })).body;
  expect(registered.map(({ agent_id }: { agent_id: string }) => agent_id)).toContain('local');
  const refused = await hub.call('POST', '/api/v1/events', {
    key: keys.production ?? '',
    body: { events: [event('m2', 21)], agent_manifest: manifest },
  });
  expect(refused).toMatchObject({ status: 200, body: { accepted: 1, manifest: 'refused' } });
  expect(await ids('?search=m2')).toEqual(['m2']);
});
