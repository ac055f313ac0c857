// Agents that pin what they see, against the real hub: deploys and key rotations at once, a rotation after a
// compromise, an undone deploy.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BundleRejectedError, type Guard } from 'reeve-agent';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { until } from '../../../packages/agent/test/manual-clock.ts';
import { itAtNight } from '../../runs.ts';
import { run } from '../process.ts';
import { BadProxy } from './proxy.ts';
import { denies, Setting, yamlFor } from './setting.ts';

const setting = new Setting();
beforeAll(() => setting.open());
afterEach(() => setting.clear());
afterAll(() => setting.close());

const rotate = (body: object = {}) =>
  setting.hub.call('POST', '/api/v1/settings/rotate-signing-key', { cookie: setting.cookie, body });
const current = async () => {
  const path = '/api/v1/bundles/guardrails/current?env=production';
  return (await setting.hub.call('GET', path, { cookie: setting.cookie })).body;
};
const runsNewest = async (guards: readonly Guard[]): Promise<void> => {
  const { revision_hash } = await current();
  await until(
    () => guards.every((guard) => guard.policyVersion === revision_hash),
    'the newest document',
    15_000,
  );
};

it('agents follow every rotation while deploys go on, and end with the newest document and key', async () => {
  const guards = [
    await setting.guard({ agentId: 'pinned', cacheFile: setting.file('pinned/cache.json') }),
    await setting.guard({ agentId: 'strict', signing: 'first-seen' }),
    await setting.guard({
      agentId: 'given',
      signing: [(await current()).public_key],
      transport: 'websocket',
    }),
  ];
  await Promise.all(['pinned', 'strict', 'given'].map((agent) => setting.connected(agent)));
  const deploys = async () => {
    for (let i = 0; i < 20; i++) await setting.deploy(yamlFor(`word-${i}`));
  };
  const rotations = async () => {
    for (let i = 0; i < 8; i++) expect((await rotate()).body.agents_follow).toBe(true);
  };
  await Promise.all([deploys(), rotations()]);
  await setting.deploy(yamlFor('last'));
  await runsNewest(guards);
  expect(guards.every((guard) => denies(guard, 'last'))).toBe(true);
  expect((await current()).key_succession).toHaveLength(8);
  // One that was away for all of it finds its way by the list.
  await setting.clear();
  for (let i = 0; i < 3; i++) await rotate();
  await setting.deploy(yamlFor('later'));
  const back = await setting.guard({ agentId: 'pinned', cacheFile: setting.file('pinned/cache.json') });
  expect(denies(back, 'later')).toBe(true);
}, 60_000);

it('after a compromise agents keep what they run until they are pinned again', async () => {
  const refusals: unknown[] = [];
  const cacheFile = setting.file('compromised/cache.json');
  await setting.deploy(yamlFor('good'));
  const guard = await setting.guard({
    agentId: 'kept',
    cacheFile,
    onError: (failure) => refusals.push(failure),
  });
  await setting.connected('kept');
  const { body } = await rotate({ compromised: true });
  expect(body).toMatchObject({
    agents_follow: false,
    warning: expect.stringContaining('until they pin the new key'),
  });
  await setting.deploy(yamlFor('next'));
  await until(() => refusals.some((failure) => failure instanceof BundleRejectedError), 'a refusal', 15_000);
  expect(denies(guard, 'good')).toBe(true);
  const { pinFile } = refusals.find(
    (failure) => failure instanceof BundleRejectedError,
  ) as BundleRejectedError;
  expect(
    readdirSync(setting.file('compromised/reeve-pins')).map((name) => join('reeve-pins', name)),
  ).toContain(join('reeve-pins', pinFile?.split('/').at(-1) ?? ''));
  await guard.close();
  rmSync(pinFile ?? '');
  expect(denies(await setting.guard({ agentId: 'kept', cacheFile }), 'next')).toBe(true);
}, 40_000);

itAtNight(
  'agents take what a restored hub has deployed, in place of a newer document that they run',
  async () => {
    const env = { DATA_DIR: setting.hub.dataDir };
    const file = setting.file('hub.backup');
    await setting.deploy(yamlFor('saved'));
    expect(await run(env, ['backup', file])).toMatchObject({ code: 0 });
    await setting.deploy(yamlFor('since'));
    const guard = await setting.guard({
      agentId: 'restored',
      cacheFile: setting.file('restored/cache.json'),
    });
    await setting.connected('restored');
    expect(denies(guard, 'since')).toBe(true);
    const { sequence } = await current();
    await setting.hub.stop();
    expect(await run(env, ['restore', file, '--force'])).toMatchObject({
      code: 0,
      text: expect.stringContaining('Current deployments with new sequences: 1'),
    });
    await setting.hub.start();
    await until(() => denies(guard, 'saved'), 'the restored document', 90_000);
    expect((await current()).sequence).toBeGreaterThan(sequence);
  },
  120_000,
);

it('an older document that somebody in between sends again is refused, over the stream and by /current', async () => {
  const proxy = await new BadProxy(() => setting.hub.url).start();
  try {
    await setting.deploy(yamlFor('older'));
    const older = await current();
    await setting.deploy(yamlFor('newer'));
    const refusals: unknown[] = [];
    const options = {
      url: proxy.url,
      agentId: 'replayed',
      cacheFile: setting.file('replayed/cache.json'),
      onError: (failure: unknown) => refusals.push(failure),
    };
    const guard = await setting.guard(options);
    proxy.tamperAnswer = (path, text) => (path.includes('/current') ? JSON.stringify(older) : text);
    await guard.close();
    const again = await setting.guard(options);
    expect(denies(again, 'newer')).toBe(true);
    expect(String(refusals.at(-1))).toMatch(/is older \(sequence \d+\) than a version already in use/);
    // People may go back: the same bytes under a new sequence.
    proxy.tamperAnswer = null;
    await setting.deploy(yamlFor('older'));
    await until(() => denies(again, 'older'), 'the older document', 15_000);
  } finally {
    await proxy.stop();
  }
}, 40_000);
