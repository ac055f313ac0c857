import { describe, expect, it } from 'vitest';
import type { RosterPage, StatusEntry, StatusPlace, StatusRequest } from '../../actors/protocol.ts';
import { Roster } from '../../actors/roster.ts';
import { settled } from '../clock.ts';
import { t0 } from '../conformance/fixtures.ts';
import { runsOf } from '../runs.ts';
import { aHub, allStreams, openedBy } from './hub.ts';

const yaml = 'kind: ContractBundle\n';
const minute = 60_000;

describe('joining', () => {
  it('answers the deployment that the stream lacks, and nothing when it has it', async () => {
    const hub = await aHub();
    const { hash } = await hub.upload('base', yaml);
    await hub.upload('other', `${yaml}# other\n`);
    const deployment = await hub.deploy('base', 1);
    await hub.deploy('other', 1);
    const catchUp = async (policyVersion: string | null, bundleName: string | null = 'base') =>
      (await hub.join({ agentId: 'a', bundleName, policyVersion })).catchUp;
    expect(await catchUp(null)).toEqual([deployment]);
    expect(await catchUp('an older hash')).toEqual([deployment]);
    expect(await catchUp(hash)).toEqual([]);
    expect(await catchUp(null, 'nothing-deployed')).toEqual([]);
  });

  it('a stream that follows all lacks every deployment but the one it has', async () => {
    const hub = await aHub();
    const { hash } = await hub.upload('base', yaml);
    await hub.upload('other', `${yaml}# other\n`);
    await hub.deploy('base', 1);
    await hub.deploy('other', 1);
    const names = async (policyVersion: string | null) =>
      (await hub.join({ agentId: 'a', policyVersion })).catchUp.map((d) => d.bundleName).sort();
    expect(await names(null)).toEqual(['base', 'other']);
    expect(await names(hash)).toEqual(['other']);
  });

  it('sees the deployments of its own environment alone', async () => {
    const hub = await aHub();
    await hub.upload('base', yaml);
    await hub.deploy('base', 1, 'staging');
    expect((await hub.join({ agentId: 'a', bundleName: 'base' })).catchUp).toEqual([]);
    expect((await hub.join({ agentId: 'a', bundleName: 'base' }, 'staging')).catchUp).toHaveLength(1);
  });
});

describe('status', () => {
  it('comes in pages that hold every stream once, also of one agent with many', async () => {
    const hub = await aHub();
    const ids = Array.from({ length: 40 }, (_, i) => `a${(i * 7) % 13}`);
    for (const [i, agentId] of ids.entries()) {
      await hub.join({ agentId, connectionId: `c${i}`, connectedAt: t0 + ((i * 5) % 3) });
    }
    const whole = await hub.status();
    expect(whole).toHaveLength(40);
    for (const limit of [1, 3, 13, 39, 40, 41]) {
      const pages: StatusEntry[] = [];
      let after: StatusPlace | null = null;
      do {
        const request: StatusRequest = { bundleName: null, limit, after };
        const page: RosterPage = await hub.actors.ask('environment', hub.keyOf(), 'status', request);
        expect(page.entries.length).toBeLessThanOrEqual(limit);
        pages.push(...page.entries);
        after = page.next;
      } while (after !== null);
      expect(pages).toEqual(whole);
    }
  });

  it('has one entry per stream, by agent then time, and follows joins and leaves', async () => {
    const hub = await aHub();
    await hub.join({ agentId: 'b', connectionId: '1' });
    hub.clock.advance(10);
    await hub.join({ agentId: 'a', connectionId: '3', bundleName: 'x' });
    await hub.join({ agentId: 'a', connectionId: '2', bundleName: 'y', connectedAt: t0 });
    const brief = async (bundle: string | null = null) =>
      (await hub.status(bundle)).map((e) => `${e.agentId} ${e.bundleName} ${e.connectedAt - t0} ${e.env}`);
    expect(await brief()).toEqual(['a y 0 production', 'a x 10 production', 'b null 0 production']);
    expect(await brief('x')).toEqual(['a x 10 production']);
    await hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId: 'a', connectionId: '3' });
    await hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId: 'nobody', connectionId: '9' });
    expect(await brief()).toEqual(['a y 0 production', 'b null 0 production']);
  });

  it('announcing a stream again does not add one', async () => {
    const hub = await aHub();
    await hub.join({ agentId: 'a' });
    await hub.join({ agentId: 'a' });
    expect(await hub.status()).toHaveLength(1);
  });

  it('is unknown without a version or a deployment, current with the deployed one, else drift', async () => {
    const hub = await aHub();
    const first = await hub.upload('base', yaml);
    const second = await hub.upload('base', `${yaml}# 2\n`);
    const of = async () =>
      (await hub.status()).map(({ policyVersion, status }) => ({ policyVersion, status }));
    await hub.join({ agentId: 'a', bundleName: 'base' });
    expect(await of()).toEqual([{ policyVersion: null, status: 'unknown' }]);
    const reportVersion = (policyVersion: string, at: number) =>
      hub.actors.ask('environment', hub.keyOf(), 'reportVersion', {
        agentId: 'a',
        bundleName: 'base',
        policyVersion,
        at,
      });
    await reportVersion(first.hash, t0);
    expect(await of()).toEqual([{ policyVersion: first.hash, status: 'unknown' }]);
    await hub.deploy('base', 1);
    expect(await of()).toEqual([{ policyVersion: first.hash, status: 'current' }]);
    await hub.deploy('base', 2);
    expect(await of()).toEqual([{ policyVersion: first.hash, status: 'drift' }]);
    hub.clock.advance(minute);
    await reportVersion(second.hash, t0 + 1000);
    expect(await of()).toEqual([{ policyVersion: second.hash, status: 'current' }]);
    await reportVersion(first.hash, t0 + 999);
    expect(await of()).toEqual([{ policyVersion: second.hash, status: 'current' }]);
  });

  it('compares per bundle, also where an agent has streams for two', async () => {
    const hub = await aHub();
    const a = await hub.upload('a', yaml);
    const b = await hub.upload('b', `${yaml}# b\n`);
    await hub.deploy('a', 1);
    await hub.deploy('b', 1);
    for (const bundleName of ['a', 'b']) {
      await hub.join({ agentId: 'x', connectionId: bundleName, bundleName, pinned: true });
    }
    await hub.actors.ask('environment', hub.keyOf(), 'reportVersions', {
      reports: [
        { agentId: 'x', bundleName: 'a', policyVersion: a.hash, at: t0 - 5 },
        { agentId: 'x', bundleName: 'b', policyVersion: b.hash, at: t0 - 1 },
      ],
    });
    expect((await hub.status()).map((e) => e.status)).toEqual(['current', 'current']);
  });

  it('of an agent that still runs another bundle is drift', async () => {
    const hub = await aHub();
    const a = await hub.upload('a', yaml);
    await hub.upload('b', `${yaml}# b\n`);
    await hub.deploy('b', 1);
    await hub.join({ agentId: 'x', bundleName: 'b' });
    await hub.actors.ask('environment', hub.keyOf(), 'reportVersion', {
      agentId: 'x',
      bundleName: 'a',
      policyVersion: a.hash,
      at: t0,
    });
    expect(await hub.status()).toMatchObject([{ status: 'drift', policyVersion: a.hash }]);
  });

  it('of a stream that follows all is current when any deployed bundle has its version', async () => {
    const hub = await aHub();
    const a = await hub.upload('a', yaml);
    await hub.upload('b', `${yaml}# b\n`);
    await hub.join({ agentId: 'x', policyVersion: a.hash });
    expect(await hub.status()).toMatchObject([{ status: 'unknown' }]);
    await hub.deploy('a', 1);
    await hub.deploy('b', 1);
    expect(await hub.status()).toMatchObject([{ status: 'current' }]);
    await hub.join({ agentId: 'x', policyVersion: 'another' });
    expect(await hub.status()).toMatchObject([{ status: 'drift' }]);
  });

  it('a version from the future counts as of now, so that a true one can follow', async () => {
    const hub = await aHub();
    await hub.join({ agentId: 'x', bundleName: 'a' });
    const reportVersion = (policyVersion: string, at: number) =>
      hub.actors.ask('environment', hub.keyOf(), 'reportVersion', {
        agentId: 'x',
        bundleName: 'a',
        policyVersion,
        at,
      });
    await reportVersion('wrong clock', t0 + 1e9);
    hub.clock.advance(1);
    await reportVersion('true', hub.clock.now());
    expect(await hub.status()).toMatchObject([{ policyVersion: 'true' }]);
  });

  it('knows the reported versions again after the activation was lost', async () => {
    const hub = await aHub();
    await hub.connect('x');
    await hub.actors.ask('agent', hub.agentKeyOf('x'), 'report', {
      bundleName: 'a',
      policyVersion: 'v7',
      at: t0,
    });
    await hub.actors.stop();
    const other = hub.start();
    const notice = {
      connectionId: 'c',
      node: 'n1',
      agentId: 'x',
      bundleName: 'a',
      pinned: true,
      connectedAt: t0,
      ...openedBy,
    };
    await other.ask('environment', hub.keyOf(), 'join', { ...notice, policyVersion: null });
    expect((await other.ask('environment', hub.keyOf(), 'status', allStreams)).entries).toMatchObject([
      { policyVersion: 'v7' },
    ]);
    await other.stop();
  });
});

describe('the roster', () => {
  it('is asked for when the environment wakes', async () => {
    const hub = await aHub();
    await hub.status();
    await hub.status();
    expect(hub.control).toEqual([{ kind: 'roster_wanted', tenantId: hub.tenantId, env: 'production' }]);
  });

  it('keeps its environment awake while a stream is open, and lets it go after', async () => {
    const hub = await aHub();
    await hub.join({ agentId: 'a' });
    await hub.clock.advanceAsync(5 * minute, minute);
    expect(hub.actors.size).toBe(1);
    await hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId: 'a', connectionId: 'c-a' });
    await hub.clock.advanceAsync(2 * minute, minute);
    expect(hub.actors.size).toBe(0);
  });

  it('forgets streams whose node died without a word', async () => {
    const hub = await aHub();
    await hub.join({ agentId: 'a' });
    await hub.clock.advanceAsync(70 * minute, 5 * minute);
    expect(await hub.status()).toHaveLength(1);
    await hub.clock.advanceAsync(30 * minute, 5 * minute);
    expect(hub.actors.size).toBe(0);
    expect(await hub.status()).toEqual([]);
  });

  it('keeps the streams of a node that hung, which comes back with them', async () => {
    let isAway = false;
    const hub = await aHub({ ports: { isGone: (node) => isAway && node === 'n2' } });
    await hub.join({ agentId: 'a', node: 'n2' });
    await hub.join({ agentId: 'b', node: 'n1' });
    const agentIds = async () => (await hub.status()).map(({ agentId }) => agentId);
    await hub.clock.advanceAsync(9 * minute, minute);
    isAway = true;
    await hub.clock.advanceAsync(19 * minute, minute);
    expect(await agentIds()).toEqual(['b']);
    isAway = false;
    expect(await agentIds()).toEqual(['a', 'b']);
    await hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId: 'a', connectionId: 'c-a' });
    await hub.actors.ask('environment', hub.keyOf(), 'leave', { agentId: 'b', connectionId: 'c-b' });
    await hub.clock.advanceAsync(3 * minute, minute);
    expect(hub.actors.size).toBe(0);
  });

  it('forgets the streams of a node that is gone at three prunings, and tells of their end once', () => {
    const roster = new Roster();
    const notice = { connectionId: 'c', node: 'n', agentId: 'a', bundleName: 'b', pinned: false };
    roster.join({ ...notice, ...openedBy, connectedAt: 10 });
    const ends: string[] = [];
    const sizes = [1, 2, 3].map(() => {
      roster.prune(
        0,
        () => true,
        20,
        (_agentId, { id }) => ends.push(id),
      );
      return [roster.empty, ends.length];
    });
    expect(sizes).toEqual([
      [false, 0],
      [false, 1],
      [true, 1],
    ]);
  });

  it('takes 20,000 agents and is empty when they have left', () => {
    const roster = new Roster();
    for (let i = 0; i < 20_000; i++) {
      const notice = { connectionId: `c${i}`, node: 'n', agentId: `a${i}`, bundleName: 'b', pinned: false };
      roster.join({ ...notice, ...openedBy, connectedAt: i });
      roster.reportVersion({ agentId: `a${i}`, bundleName: 'b', policyVersion: 'v', at: i });
    }
    const { entries } = roster.status('production', new Map(), { ...allStreams, bundleName: 'b' });
    expect(entries).toHaveLength(20_000);
    expect(roster.assignable()).toHaveLength(20_000);
    for (let i = 0; i < 20_000; i++) roster.leave(`a${i}`, `c${i}`);
    expect(roster.empty).toBe(true);
  });

  it('remembers the versions of a bounded number of absent agents and bundles', () => {
    const roster = new Roster({ absent: 2, versions: 2 });
    const reportVersion = (agentId: string, bundleName: string, at: number) =>
      roster.reportVersion({ agentId, bundleName, policyVersion: `${bundleName}@${at}`, at });
    for (const agentId of ['a', 'b', 'c']) reportVersion(agentId, 'x', 1);
    for (const [name, at] of [
      ['y', 5],
      ['z', 3],
    ] as const)
      reportVersion('c', name, at);
    const versionOf = (agentId: string, bundleName: string) => {
      const notice = {
        connectionId: bundleName,
        node: 'n',
        agentId,
        bundleName,
        pinned: true,
        connectedAt: 0,
        ...openedBy,
      };
      roster.join(notice);
      const [entry] = roster.status('production', new Map(), { ...allStreams, bundleName }).entries;
      roster.leave(agentId, bundleName);
      return entry?.policyVersion;
    };
    expect(versionOf('a', 'x')).toBeNull();
    expect(versionOf('c', 'y')).toBe('y@5');
    expect(versionOf('c', 'z')).toBe('z@3');
    // The oldest of three gave way; the newest of any bundle stands in.
    expect(versionOf('c', 'x')).toBe('y@5');
  });
});

it('thousands of agents connect, join and report through the actors', async () => {
  const agents = runsOf(10_000);
  const hub = await aHub();
  await hub.upload('base', yaml);
  await hub.deploy('base', 1);
  for (let batch = 0; batch < agents; batch += 500) {
    await Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        const agentId = `agent-${batch + i}`;
        const { bundleName } = await hub.connect(agentId, { requested: 'base' });
        await hub.join({ agentId, bundleName, pinned: true });
      }),
    );
  }
  await settled();
  expect(await hub.status('base')).toHaveLength(agents);
  expect(hub.log.lines).toEqual([]);
}, 60_000);
