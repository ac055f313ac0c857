// Promise 9: a key revoked on one node. Its streams on all nodes end within 1 s, and no node takes it any more; other
// keys do not notice.
import { eventually } from '../../nodes.ts';
import { agents, close, open } from '../crowd.ts';
import { spread } from '../figures.ts';
import type { Follower } from '../follower.ts';
import { Tenant } from '../tenant.ts';
import type { Suite } from '../trial.ts';

const limitMs = 1000;

export const revocation: Suite = {
  promise: 9,
  title: 'a key revoked on one node ends its streams on the others',

  async run({ fleet, random, of }) {
    const tenant = await Tenant.create(fleet, random);
    const kept = await tenant.key();
    const others = agents(fleet, kept.key, fleet.size * 4, random.branch('others'), { prefix: 'other-' });
    await open(others);
    const violations: string[] = [];
    const streams: number[] = [];
    const calls: number[] = [];
    const dead: { key: string; begun: number; crowd: readonly Follower[] }[] = [];
    for (let round = 0; round < of(4, 12); round++) {
      const revoked = await tenant.key();
      const crowd = fleet.nodes.flatMap((node) =>
        agents(fleet, revoked.key, of(5, 15), random.branch(`${round}`), {
          prefix: `${round}-${node.name}-`,
          on: node,
        }),
      );
      await open(crowd);
      // They come back by themselves, and must be refused until the end of the run.
      const at = fleet.at(random.int(fleet.size));
      const begun = Date.now();
      const answer = await fleet.caller.send(at, 'DELETE', `/api/v1/keys/${revoked.id}`, {
        cookie: tenant.cookie,
      });
      if (answer.outcome !== 'ok') violations.push(`revoking on ${at.name} was answered ${answer.status}`);
      calls.push(
        ...(await Promise.all(
          fleet.nodes.map(async (node) => {
            const refused = async () => {
              const path = '/api/v1/bundles';
              const { status } = await fleet.caller.send(node, 'GET', path, { key: revoked.key });
              return status === 401 ? Date.now() - begun : undefined;
            };
            return eventually(`${node.name} refuses the key`, refused, 10 * limitMs).then(
              ({ value }) => value,
              () => Number.POSITIVE_INFINITY,
            );
          }),
        )),
      );
      await eventually(
        'the streams end',
        () => (crowd.some((f) => f.open) ? undefined : true),
        10 * limitMs,
      ).catch(() => {});
      const elsewhere = crowd.filter(({ connections }) => connections[0]?.node !== at.name);
      streams.push(...elsewhere.map((follower) => endOf(follower) - begun));
      dead.push({ key: revoked.key, begun, crowd });
    }
    await eventually(
      'all have come back and were refused',
      () => (dead.every(({ crowd }) => crowd.every(({ rejected }) => rejected)) ? true : undefined),
      10 * limitMs,
    ).catch(() => violations.push('not every agent was refused when it came back'));
    for (const { key, begun, crowd } of dead) {
      const late = crowd.flatMap(({ connections }) =>
        connections.filter(
          ({ openedAt, endedAt }) => openedAt > begun + limitMs || (endedAt ?? Infinity) > begun + limitMs,
        ),
      );
      if (late.length > 0) violations.push(`${late.length} streams of a revoked key were open too late`);
      for (const node of fleet.nodes) {
        const { status } = await fleet.caller.send(node, 'GET', '/api/v1/bundles', { key });
        if (status !== 401) violations.push(`in the end ${node.name} answered a revoked key ${status}`);
      }
      close(crowd);
    }
    for (const ms of streams)
      if (ms > limitMs) violations.push(`a stream of a revoked key ended after ${ms} ms`);
    for (const ms of calls) if (ms > limitMs) violations.push(`a revoked key was taken for ${ms} ms`);
    const noticed = others.filter(({ connections, open: isOpen }) => connections.length > 1 || !isOpen);
    if (noticed.length > 0) violations.push(`${noticed.length} streams of another key ended`);
    close(others);
    return {
      figures: {
        'streams on other nodes': streams.length,
        'ended after p50/p99/max': spread(streams),
        'refused everywhere after p50/p99/max': spread(calls),
      },
      violations,
    };
  },
};

const endOf = ({ connections }: Follower): number => connections[0]?.endedAt ?? Number.POSITIVE_INFINITY;
