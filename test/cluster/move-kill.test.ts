// `reeve move` as people run it: killed again and again, then run to its end, with a real agent that waits for its hub.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import type { Guard } from 'reeve-agent';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteInline } from '../../adapters/sqlite/index.ts';
import { until } from '../../packages/agent/test/manual-clock.ts';
import { aBatch } from '../conformance/events.ts';
import { ofSession } from '../conformance/runs.ts';
import { denies, Setting, yamlFor } from '../e2e/library/setting.ts';
import { lines, mainFile, run } from '../e2e/process.ts';
import { random } from '../random.ts';
import { runsOf } from '../runs.ts';
import { eventually, Nodes } from './nodes.ts';

const seed = process.env.SEED ?? '1';
const kills = runsOf(100, 4);
const events = kills * 200;
const setting = new Setting();
let nodes: Nodes;
let guard: Guard;
let tenantId: string;
let approvalId: string;
const notices: string[] = [];

beforeAll(async () => {
  await setting.open();
  const { hub, cookie, key } = setting;
  tenantId = (await hub.call('GET', '/api/v1/environments', { cookie })).body.tenant_id;
  guard = await setting.guard({ onError: (_, what) => notices.push(what) });
  const asked = await hub.call('POST', '/api/v1/approvals', {
    key,
    agent: 'agent-1',
    body: { tool_name: 'deploy', tool_args: { target: 'x' }, message: 'deploy?', timeout: 3600 },
  });
  expect([asked.status, asked.body]).toEqual([201, expect.anything()]);
  approvalId = asked.body.id;
  expect(await guard.run('say', { text: 'fine' }, () => 'said')).toBe('said');
  await hub.call('PUT', '/api/v1/sessions/counter', { key, agent: 'agent-1', body: { value: '41' } });
  await hub.stop();
  const store = await openSqliteInline(join(hub.dataDir, 'reeve.db'));
  const now = Date.now();
  for (let from = 0; from < events; from += 500) {
    const batch = Array.from({ length: Math.min(500, events - from) }, (_, i) =>
      ofSession(`run-${(from + i) % 97}`, { callId: `call-${from + i}`, timestamp: now - from - i }),
    );
    await store.events.ingest(aBatch(tenantId, batch, { receivedAt: now }));
  }
  await store.close();
  const secret = readFileSync(join(hub.dataDir, 'secret.key'), 'utf8').trim();
  nodes = new Nodes({ count: 2, env: { SECRET_KEY: secret } });
});
afterAll(async () => {
  await setting.close();
  await nodes.remove();
}, 240_000);

const settings = () => ({
  DATA_DIR: setting.hub.dataDir,
  CLUSTER_NAME: nodes.clusterName,
});
const words = () => ['move', '--to-mongodb', nodes.mongoUrl, '--to-redis', nodes.redisUrl, '--json'];

/** How many events the cluster has. */
async function total(): Promise<number> {
  const client = new MongoClient(nodes.mongoUrl);
  try {
    return await client.db().collection('events').countDocuments({ tenantId });
  } finally {
    await client.close();
  }
}

/** The last line: those before it tell the progress. */
const resultIn = (text: string) => JSON.parse(lines(text).at(-1) ?? '');

/** Runs the command and kills it so long after its first line. True when it had ended by itself. */
async function killedMove(ms: number): Promise<boolean> {
  const child = spawn(process.execPath, [mainFile, ...words()], {
    env: { PATH: process.env.PATH ?? '', ...settings() },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  // Its first line comes when it is connected.
  await Promise.race([ended, once(child.stderr, 'data')]);
  await Promise.race([ended, wait(ms)]);
  child.kill('SIGKILL');
  const [, signal] = (await ended) as [number | null, string | null];
  return signal === null;
}

describe('a move with another master secret', () => {
  it('is refused before the first write', async () => {
    const { code, text } = await run({ ...settings(), SECRET_KEY: 'x'.repeat(40) }, words());
    expect(code).toBe(1);
    expect(resultIn(text).error.message).toContain('SECRET_KEY is not the master secret of');
  });
});

describe(`a move that is killed ${kills} times (SEED=${seed})`, () => {
  const chance = random(seed);
  let longest = 2_500;

  // Each ten have a time limit of their own: on a busy machine, a start takes seconds.
  it.each(Array.from({ length: Math.ceil(kills / 10) }, (_, i) => i * 10))(
    'goes on after %i kills and up to ten more',
    async (before) => {
      for (let kill = before; kill < Math.min(kills, before + 10); kill++) {
        const ms = chance.between(0, longest);
        // Later kills come earlier once a run got to its end.
        if (await killedMove(ms)) longest = Math.max(200, ms * 0.8);
      }
    },
    300_000,
  );

  it('ends with everything there, and a repeat finds it ended', async () => {
    const { code, text } = await run(settings(), words());
    expect([code, resultIn(text)]).toEqual([0, expect.objectContaining({ data_dir: setting.hub.dataDir })]);
    const again = await run(settings(), words());
    expect([again.code, resultIn(again.text).moved]).toEqual([0, false]);
  }, 600_000);

  it('leaves a folder on which no hub starts', async () => {
    await expect(setting.hub.start()).rejects.toThrow(/The data of .* was moved to mongodb:\/\/127/);
  });

  it('lets the same people, keys and agents go on where they were', async () => {
    const { hub, cookie, key } = setting;
    // Agents know one address.
    nodes.at(0).port = hub.port;
    await nodes.start();
    const node = nodes.at(1);
    expect(await total()).toBeGreaterThanOrEqual(events);
    const value = await node.call('GET', '/api/v1/sessions/counter', { key, agent: 'agent-1' });
    expect(value.body.value).toBe('41');
    const pending = await node.call('GET', `/api/v1/approvals/${approvalId}`, { cookie });
    expect([pending.status, pending.body]).toEqual([200, expect.objectContaining({ status: 'pending' })]);
    // Nodes that have just started take up their shards first.
    const { value: decided } = await eventually(
      'the decision',
      async () => {
        const answer = await node.call('PUT', `/api/v1/approvals/${approvalId}`, {
          cookie,
          body: { approved: true },
        });
        return answer.status === 503 ? undefined : answer;
      },
      90_000,
    );
    expect([decided.status, decided.body]).toEqual([200, expect.anything()]);
    await eventually(
      'the agent to return',
      async () => {
        const { body } = await node.call('GET', '/api/v1/agents/status', { cookie });
        return body.agents.find(({ agent_id: id }: { agent_id: string }) => id === 'agent-1');
      },
      90_000,
    );
    expect(denies(guard, 'one')).toBe(true);
    // The next deployment is newer than those of before.
    const uploaded = await node.call('POST', '/api/v1/bundles', {
      cookie,
      body: { yaml_content: yamlFor('two') },
    });
    expect(uploaded.body.version).toBe(2);
    const deployed = await node.call('POST', '/api/v1/bundles/guardrails/2/deploy', {
      cookie,
      body: { env: 'production' },
    });
    expect(deployed.status).toBe(201);
    await until(() => denies(guard, 'two'), 'the new contracts', 60_000);
    await guard.run('say', { text: 'fine' }, () => 'said');
    await guard.close();
    // Both calls of the agent, also the one that its hub may have missed when it stopped.
    await eventually('both calls', async () => ((await total()) === events + 2 ? true : undefined), 60_000);
    expect(await total()).toBe(events + 2);
    expect(notices).not.toContain('verifying the bundle');
  }, 240_000);
});
