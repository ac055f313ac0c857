// An agent's stream that is announced again, when what it says reaches its actors and when not.
import { expect, it } from 'vitest';
import { AgentStream, type StreamNode } from '../../src/agent/use-cases/stream.ts';
import { agentsOf } from '../../src/shared/frame.ts';
import { ManualClock } from '../clock.ts';

it('says until its environment has it that the agent is assigned anew, although the stream follows that by then', async () => {
  const told: string[] = [];
  let away = true;
  const hub = {
    actors: {
      ask: async (_kind: string, _key: string, type: string) =>
        type === 'connect' ? { bundleName: 'new', source: 'explicit' } : { catchUp: [], bundleName: 'new' },
      tell: async (_kind: string, _key: string, type: string, body: { bundleName: string }) => {
        if (away) throw new Error('away');
        told.push(`${type} ${body.bundleName}`);
      },
    },
    announcer: { announce: async () => {} },
  };
  const stream = new AgentStream(
    { ports: { ...hub, clock: new ManualClock() }, id: 'n1', startedAt: 0 } as unknown as StreamNode,
    {
      tenantId: 't1',
      env: 'production',
      agentId: 'a1',
      connectionId: 'c1',
      requested: null,
      policyVersion: null,
      tags: {},
      transport: 'sse',
      api: 'console',
      client: { keyId: 'key-1', agentId: 'a1', network: '' },
      resumes: false,
      audience: agentsOf('t1', 'production'),
      skips: null,
      loadsAny: false,
      wantsIsolation: false,
    },
  );
  await expect(stream.announce('old')).rejects.toThrow('away');
  away = false;
  await stream.announce('new');
  expect(told).toEqual(['retarget new']);
  await stream.announce('new');
  expect(told).toEqual(['retarget new']);
});
