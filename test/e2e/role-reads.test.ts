// Reads by a person with a role in one environment, beside an admin's with the same environment in the query: the same
// answers, and at full count of about the same cost.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { environments } from '../../src/shared/ids.ts';
import { isNightly, runsOf } from '../runs.ts';
import { HubProcess } from './process.ts';
import { SharedHub } from './shared-hub.ts';

// Other files' work would change the times that the night compares.
const hub = isNightly ? new HubProcess({ LOG_LEVEL: 'warn' }) : new SharedHub();
const events = runsOf(1_000_000, 6_000);
const perBatch = Math.min(2_000, events / 3);
/** A person's read takes at most so many times an admin's, and a little that no clock resolves. */
const [maxRatio, slackMs] = [1.2, 1];
const rounds = 20;
let admin = '';
let viewer = '';
let since = '';
let until = '';

beforeAll(async () => {
  await hub.start();
  admin = await hub.admin();
  const body = {
    email: hub.emailOf('viewer'),
    password: 'correct horse battery',
    roles: [{ role: 'viewer', env: 'staging' }],
  };
  expect((await hub.call('POST', '/api/v1/users', { cookie: admin, body })).status).toBe(201);
  viewer = await hub.login(body.email);
  const keys = await Promise.all(environments.map(async (env) => (await hub.key(admin, env)).key));
  const start = Date.now() - 20 * 3_600_000;
  since = new Date(start - 3_600_000).toISOString();
  until = new Date().toISOString();
  for (let first = 0; first < events; first += perBatch * keys.length) {
    await Promise.all(
      keys.map(async (key, env) => {
        const batch = Array.from({ length: perBatch }, (_, i) => {
          const n = first + env * perBatch + i;
          return {
            call_id: `call-${n}`,
            agent_id: `agent-${environments[env]}-${n % 50}`,
            tool_name: `tool-${n % 20}`,
            verdict: n % 10 === 0 ? 'call_denied' : 'call_allowed',
            mode: 'enforce',
            timestamp: new Date(start + Math.floor((n / events) * 18 * 3_600_000)).toISOString(),
            payload: { session_id: `session-${n % 500}` },
          };
        });
        const answer = await hub.call('POST', '/api/v1/events', { key, body: { events: batch } });
        expect(answer.body).toMatchObject({ accepted: perBatch });
      }),
    );
  }
}, 1_800_000);
afterAll(() => hub.remove());

const reads = [
  'events?limit=200',
  'events?limit=50&tool_name=tool-3&verdict=call_denied',
  'events/facets?',
  'events/histogram?bucket_seconds=3600&',
  'stats/overview?',
  'stats/contracts?',
  'agents?limit=50',
  'agents/fleet-coverage?since=24h',
];

async function read(path: string, cookie: string): Promise<{ readonly text: string; readonly ms: number }> {
  const begun = performance.now();
  const { status, body } = await hub.call('GET', path, { cookie });
  const ms = performance.now() - begun;
  expect([path, status]).toEqual([path, 200]);
  // The window of time ends now, and an admin's total is that of all environments.
  const { time_window: _, total_agents: __, ...fields } = body;
  return { text: JSON.stringify(Array.isArray(body) ? body : fields), ms };
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

it.each(reads)(
  '%s answers as for an admin who names the environment',
  async (name) => {
    const isTimed = /histogram|contracts/.test(name);
    const path = `/api/v1/${name}${isTimed ? `since=${since}&until=${until}` : ''}`;
    const named = `${path}${path.endsWith('?') ? '' : '&'}env=staging`;
    const [own, asAdmin]: [number[], number[]] = [[], []];
    // In turns, so that other work on the machine slows both. Each is as often second, and finds all in memory.
    for (let i = 0; i < (isNightly ? rounds : 1); i++) {
      const isFirst = i % 2 === 0;
      const first = isFirst ? await read(path, viewer) : await read(named, admin);
      const second = isFirst ? await read(named, admin) : await read(path, viewer);
      const [mine, theirs] = isFirst ? [first, second] : [second, first];
      expect(mine.text === theirs.text || [mine.text.slice(0, 300), theirs.text.slice(0, 300)]).toBe(true);
      own.push(mine.ms);
      asAdmin.push(theirs.ms);
    }
    const [ours, bound] = [median(own), median(asAdmin)];
    if (!isNightly) return;
    console.log(`${name}: ${ours.toFixed(1)} ms, an admin ${bound.toFixed(1)} ms`);
    expect(ours).toBeLessThanOrEqual(maxRatio * bound + slackMs);
  },
  120_000,
);
