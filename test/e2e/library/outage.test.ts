// The library while the real hub is killed, away and back: it decides by the last good bundle, catches up, and loses no
// event.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DeniedError, type Guard } from 'reeve-agent';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../../packages/agent/test/manual-clock.ts';
import { itAtNight, rowsOfRun } from '../../runs.ts';
import { testProgram } from '../../test-program.ts';
import { denies, recorded, Setting, yamlFor } from './setting.ts';

const setting = new Setting();
beforeAll(() => setting.open());
afterEach(() => setting.clear());
afterAll(() => setting.close());

/** Waits between attempts double: a hub that comes up right after one is found by the next. Milliseconds. */
const catchUp = 15_000;
const testTime = 40_000;

/** Ten calls, every second of them with a word; gives how many ran. */
const tenCalls = async (guard: Guard, word: string): Promise<number> => {
  let ran = 0;
  for (let i = 0; i < 10; i++) {
    await guard
      .run('say', { text: i % 2 === 0 ? word : 'fine' }, () => {
        ran += 1;
      })
      .catch((failure: unknown) => {
        if (!(failure instanceof DeniedError)) throw failure;
      });
  }
  return ran;
};

describe.each(rowsOfRun(['sse', 'websocket', 'websocket-msgpack'] as const, 1))(
  'a hub that is killed, over %s',
  (transport) => {
    it(
      'is not needed to decide, and is caught up with when it is back; no event is lost',
      async () => {
        const agentId = `outage-${transport}`;
        const words = { sse: 'two', websocket: 'three', 'websocket-msgpack': 'four' };
        const errors: string[] = [];
        const bundles: (number | null)[] = [];
        await setting.deploy(yamlFor('one'));
        const guard = await setting.guard({
          agentId,
          transport,
          onError: (_, what) => errors.push(what),
          onBundle: ({ version }) => bundles.push(version),
        });
        expect(await tenCalls(guard, 'one')).toBe(5);

        await setting.hub.kill();
        await until(() => errors.includes('following the stream'), 'the stream to end');
        // More than one batch, so that delivering is tried, and fails.
        for (let i = 0; i < 5; i++) expect(await tenCalls(guard, 'one')).toBe(5);
        await until(() => errors.includes('sending audit events'), 'a delivery to fail', 15_000);

        await setting.hub.start();
        const word = words[transport];
        await setting.deploy(yamlFor(word));
        await until(() => denies(guard, word), 'the new contracts', catchUp);
        expect(await tenCalls(guard, 'one')).toBe(10);
        expect(await tenCalls(guard, word)).toBe(5);
        expect(bundles.at(-1)).toBeGreaterThan(bundles[0] ?? 0);

        await guard.close();
        expect(recorded(guard).size).toBe(80);
        expect(await setting.stored(agentId)).toEqual(recorded(guard));
      },
      testTime,
    );
  },
);

describe('a hub that is away', () => {
  itAtNight(
    'is not needed at start by an agent that has its last good bundle on disk, and takes it up when back',
    async () => {
      const options = {
        agentId: 'cached',
        cacheFile: setting.file('cache.json'),
        signing: 'first-seen',
      } as const;
      await setting.deploy(yamlFor('five'));
      await (await setting.guard(options)).close();
      await setting.hub.kill();

      const errors: string[] = [];
      const guard = await setting.guard({ ...options, onError: (_, what) => errors.push(what) });
      expect(errors).toContain('fetching the bundle; using the bundle on disk');
      expect(await tenCalls(guard, 'five')).toBe(5);

      await setting.hub.start();
      await setting.deploy(yamlFor('six'));
      await until(() => denies(guard, 'six'), 'the new contracts', catchUp);
      await guard.close();
      expect(await setting.stored('cached')).toEqual(recorded(guard));
    },
    testTime,
  );

  itAtNight('gets the events of an agent that was killed meanwhile, from its spool', async () => {
    const spoolFile = setting.file('spool.jsonl');
    const options = { agentId: 'crashed', cacheFile: setting.file('crash-cache.json') };
    await (await setting.guard(options)).close();
    await setting.hub.kill();
    const program = `
      import { Guard } from '../packages/agent/src/index.ts';
      const guard = await Guard.connect(${JSON.stringify({
        ...options,
        url: setting.hub.url,
        apiKey: setting.key,
        bundleName: 'guardrails',
        spoolFile,
      })});
      for (let i = 0; i < 30; i++) await guard.run('say', { text: 'fine' }, () => i);
      process.stdout.write(JSON.stringify(guard.events.events.map((event) => event.call_id)));
      process.kill(process.pid, 'SIGKILL');`;
    const agent = spawn(process.execPath, [await testProgram({ name: 'spooling-agent', text: program })], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let out = '';
    agent.stdout.on('data', (part: Buffer) => {
      out += part;
    });
    expect((await once(agent, 'close'))[1]).toBe('SIGKILL');
    const calls = new Set<string>(JSON.parse(out));
    expect(calls.size).toBe(30);

    await setting.hub.start();
    const next = await setting.guard({ ...options, spoolFile });
    await next.close();
    const stored = await setting.stored('crashed');
    expect(new Set(stored.keys())).toEqual(calls);
    expect([...stored.values()].every((verdicts) => verdicts.join() === 'call_allowed,call_executed')).toBe(
      true,
    );
  });
});
