// The library behind a hub that storms, holds its answers, lies about bundles or forgets its streams. The hub is real,
// the proxy before it is not kind.
import { createHash } from 'node:crypto';
import { BundleRejectedError, ConfigurationError, DeniedError, type Guard } from 'reeve-agent';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../../packages/agent/test/manual-clock.ts';
import { SharedHub } from '../shared-hub.ts';
import { BadProxy } from './proxy.ts';
import { denies, recorded, Setting, yamlFor } from './setting.ts';

const setting = new Setting(new SharedHub());
let proxy: BadProxy;
beforeAll(() => setting.open());
beforeEach(async () => {
  proxy = await new BadProxy(() => setting.hub.url).start();
  await setting.deploy(yamlFor('one'));
});
afterEach(async () => {
  await setting.clear();
  await proxy.stop();
});
afterAll(() => setting.close());

/** Calls that are all denied and calls that are all allowed, side by side; gives the texts that ran. */
const calls = async (guard: Guard, count: number, word: string): Promise<Set<string>> => {
  const ran = new Set<string>();
  const one = (text: string): Promise<unknown> =>
    guard
      .run('say', { text }, (args) => ran.add(args.text))
      .catch((failure: unknown) => {
        if (!(failure instanceof DeniedError)) throw failure;
      });
  await Promise.all(Array.from({ length: count }, (_, i) => one(i % 2 === 0 ? `${word} ${i}` : `fine ${i}`)));
  return ran;
};

describe('a storm of 5xx and cut connections', () => {
  it('loses no event and lets no denied call run', async () => {
    const failures: string[] = [];
    const guard = await setting.guard({
      url: proxy.url,
      agentId: 'storm',
      onError: (_, what) => failures.push(what),
    });
    await until(() => guard.evaluate('say', { text: 'one' }).verdict === 'deny');
    proxy.behave('storm');
    proxy.cut();
    const ran = await calls(guard, 300, 'one');
    expect(ran.size).toBe(150);
    expect([...ran].filter((text) => text.includes('one'))).toEqual([]);
    await until(() => failures.includes('sending audit events'), 'a flush to fail', 15_000);
    expect(proxy.refused).toBeGreaterThanOrEqual(3);
    proxy.behave('honest');
    await guard.close();
    expect(recorded(guard).size).toBe(300);
    expect(await setting.stored('storm')).toEqual(recorded(guard));
  }, 40_000);
});

describe('a hub that holds every answer', () => {
  it('holds up no call, and has every event once it answers', async () => {
    const guard = await setting.guard({ url: proxy.url, agentId: 'held' });
    proxy.behave('holding');
    const ran = await calls(guard, 100, 'one');
    await until(() => proxy.held > 0, 'a request to be held');
    expect([...ran].every((text) => text.startsWith('fine'))).toBe(true);
    expect(ran.size).toBe(50);
    expect((await setting.stored('held')).size).toBe(0);
    proxy.behave('honest');
    await guard.close();
    expect(await setting.stored('held')).toEqual(recorded(guard));
  });

  it('is not waited for at start when there is a good bundle on disk', async () => {
    const cacheFile = setting.file('slow-cache.json');
    const options = { url: proxy.url, agentId: 'slow', cacheFile };
    await (await setting.guard(options)).close();
    proxy.behave('holding');
    const guard = await setting.guard(options);
    expect(denies(guard, 'one')).toBe(true);
    proxy.behave('honest');
  });
});

describe('a bundle that is not what the hub signed', () => {
  const forged = yamlFor('nothing-at-all');
  /** Other YAML under its own right hash, with the signature of the real one. */
  const forge = (text: string): string =>
    text
      .replace(/"yaml_bytes":"[^"]+"/, `"yaml_bytes":"${Buffer.from(forged).toString('base64')}"`)
      .replace(
        /"revision_hash":"[^"]+"/,
        `"revision_hash":"${createHash('sha256').update(forged).digest('hex')}"`,
      );

  it('never replaces a good one, is reported, and does not keep the next good one away', async () => {
    const rejected: unknown[] = [];
    const guard = await setting.guard({
      url: proxy.url,
      agentId: 'signed',
      signing: 'first-seen',
      cacheFile: setting.file('signed-cache.json'),
      onError: (failure) => rejected.push(failure),
    });
    const good = guard.policyVersion;
    let forgeries = 0;
    proxy.tamper = (block) => {
      if (!block.includes('"contract_update"')) return block;
      forgeries += 1;
      return forge(block);
    };
    // The stream may have been connecting while the proxy was still honest: cut, it starts again under the forger.
    proxy.cut();
    await setting.deploy(yamlFor('two'));
    await until(
      () => rejected.some((failure) => failure instanceof BundleRejectedError),
      'a rejection',
      15_000,
    );
    expect(forgeries).toBeGreaterThan(0);
    expect(guard.policyVersion).toBe(good);
    expect(await calls(guard, 2, 'one')).toEqual(new Set(['fine 1']));

    proxy.tamper = null;
    await setting.deploy(yamlFor('three'));
    await until(() => denies(guard, 'three'), 'the good bundle', 15_000);
  }, 40_000);

  it('is not started with', async () => {
    const started = (signing: 'first-seen' | string[]) =>
      setting.guard({ url: proxy.url, agentId: 'starts', signing });
    await expect(started(['0'.repeat(64)])).rejects.toThrow(ConfigurationError);
    proxy.tamperAnswer = (path, text) => (path.includes('/current') ? forge(text) : text);
    await expect(started('first-seen')).rejects.toThrow('not signed by a trusted key');
  });
});

describe('an approval', () => {
  const pending = async (agent: string): Promise<string> => {
    for (;;) {
      const path = '/api/v1/approvals?status=pending';
      const { body } = await setting.hub.call('GET', path, { cookie: setting.cookie });
      const list = (Array.isArray(body) ? body : body.approvals) as { id: string; agent_id: string }[];
      const found = list.find((approval) => approval.agent_id === agent);
      if (found) return found.id;
    }
  };
  const decide = (id: string, approved: boolean) =>
    setting.hub.call('PUT', `/api/v1/approvals/${id}`, {
      cookie: setting.cookie,
      body: { approved, reason: 'so be it' },
    });

  it.each(['sse', 'websocket', 'websocket-msgpack'] as const)(
    'is heard of by push, over %s',
    async (transport) => {
      const agentId = `pushed-${transport}`;
      // So seldom that only the stream can tell in time.
      const guard = await setting.guard({ agentId, transport, approvalPollInterval: 3_600_000 });
      const asked = guard.run('deploy', { target: 'x' }, () => 'deployed');
      await decide(await pending(agentId), true);
      expect(await asked).toBe('deployed');
      const refused = guard.run('deploy', { target: 'y' }, () => 'deployed');
      refused.catch(() => {});
      await decide(await pending(agentId), false);
      await expect(refused).rejects.toThrow(DeniedError);
    },
  );

  it('is asked for when streams cannot be had', async () => {
    proxy.behave('no-streams');
    const guard = await setting.guard({ url: proxy.url, agentId: 'polled', approvalPollInterval: 50 });
    const asked = guard.run('deploy', { target: 'x' }, () => 'deployed');
    await decide(await pending('polled'), true);
    expect(await asked).toBe('deployed');
  });

  it.each([
    ['deny', 'call_approval_timeout'],
    ['allow', 'call_approval_timeout,call_executed'],
  ])('that nobody decides ends by its deadline with %s', async (effect, ending) => {
    const agentId = `late-${effect}`;
    await setting.deploy(yamlFor('one', `timeout: 1, timeout_effect: ${effect}`));
    const guard = await setting.guard({ agentId });
    const began = performance.now();
    const answer = await guard
      .run('deploy', { target: 'x' }, () => 'deployed')
      .catch((failure: unknown) => (failure instanceof DeniedError ? 'denied' : failure));
    expect(answer).toBe(effect === 'allow' ? 'deployed' : 'denied');
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
    await guard.close();
    const [verdicts] = (await setting.stored(agentId)).values();
    expect(verdicts?.join()).toBe(`call_approval_requested,${ending}`);
  });
});

// The last one: its key is gone afterwards.
describe('a revoked key', () => {
  it('stops the agent from hearing and telling, but not from deciding; a new key delivers what was kept', async () => {
    const failures: unknown[] = [];
    const options = { agentId: 'revoked', cacheFile: setting.file('key-cache.json') };
    const spoolFile = setting.file('key-spool.jsonl');
    const guard = await setting.guard({
      ...options,
      spoolFile,
      onError: (failure) => failures.push(failure),
    });
    await setting.hub.call('DELETE', `/api/v1/keys/${setting.keyId}`, { cookie: setting.cookie });
    const refused = (failure: unknown): boolean => (failure as { status?: number }).status === 401;
    await until(() => failures.some(refused), 'the refusal of the stream', 15_000);

    expect(await calls(guard, 10, 'one')).toEqual(new Set([1, 3, 5, 7, 9].map((i) => `fine ${i}`)));
    await expect(guard.close()).rejects.toThrow(AggregateError);
    await expect(setting.guard(options)).rejects.toThrow(ConfigurationError);

    ({ key: setting.key, id: setting.keyId } = await setting.hub.key(setting.cookie));
    await (await setting.guard({ ...options, spoolFile })).close();
    expect(await setting.stored('revoked')).toEqual(recorded(guard));
  }, 40_000);
});
