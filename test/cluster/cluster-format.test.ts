// Which versions may be one cluster: a node beside others of each protocol and schema, and on databases of each.
import { type Collection, MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { claimFormat, type FormatRow } from '../../adapters/mongo/cluster-format.ts';
import { type DatabaseStep, schemaSteps } from '../../adapters/mongo/schema.ts';
import { systemClock } from '../../adapters/node/clock.ts';
import { openRedis } from '../../adapters/redis/index.ts';
import { type ClusterFormat, currentFormat } from '../../src/shared/cluster-format.ts';
import type { NodeNote } from '../../src/shared/ports/membership.ts';
import { rowsOfRun } from '../runs.ts';
import { eventually, Nodes } from './nodes.ts';
import { mongoDatabases, noLog } from './stage.ts';

const { protocol, schema } = currentFormat;

describe('a node that starts', () => {
  /** A node, not started, beside another member that says `format` of itself. */
  async function besideMember(format: object) {
    const nodes = new Nodes({ count: 1 });
    onTestFinished(() => nodes.remove());
    const options = { url: inject('redisUrl'), log: noLog, clock: systemClock };
    const redis = await openRedis({ ...options, prefix: `${nodes.clusterName}:`, nodeId: 'neighbour' });
    onTestFinished(() => redis.close());
    const note = { version: '9.9.9', startedAt: 0, shards: [], agents: 0, ...format } as unknown as NodeNote;
    await redis.members.heartbeat(note);
    const timer = systemClock.every(500, () => void redis.members.heartbeat(note).catch(() => {}));
    onTestFinished(() => timer.cancel());
    return { nodes, members: redis.members };
  }

  const fitting = [
    [
      'has the next protocol, and fields that this one does not know',
      { protocol: protocol + 1, schema, x: 1 },
    ],
    ['has the protocol before', { protocol: protocol - 1, schema }],
    ['has the same protocol', { protocol, schema }],
  ] as const;
  it.each(rowsOfRun(fitting, 1))('joins a cluster whose node %s', async (_, format) => {
    const { nodes, members } = await besideMember(format);
    await nodes.start();
    await eventually('ready', async () => {
      const { status } = await nodes.at(0).call('GET', '/api/v1/health/ready');
      return status === 200 || undefined;
    });
    const own = (await members.list()).find(({ node }) => node !== 'neighbour');
    expect(own?.note).toMatchObject(currentFormat);
  });

  const others = [
    [
      { protocol: protocol + 2, schema },
      `has protocol ${protocol + 2}, and this version has protocol ${protocol}. Start a version with a protocol from ${protocol + 1} to ${protocol + 3}.`,
    ],
    [
      { protocol, schema: schema + 1 },
      `has schema ${schema + 1}, and this version supports schema ${schema}. Start the version that the cluster ran before.`,
    ],
    [
      { protocol, schema: 1 },
      `has schema 1, and this version needs schema ${schema}. Stop all nodes, then start this version.`,
    ],
  ] as const;
  it.each(rowsOfRun(others, 1))(
    'is refused in one line beside a node with %o, and leaves the database as it is',
    async (format, text) => {
      const { nodes, members } = await besideMember(format);
      await expect(nodes.start()).rejects.toThrow(
        `This node cannot join the cluster: node neighbour (version 9.9.9) ${text}`,
      );
      expect(nodes.at(0).output.trim().split('\n')).toHaveLength(1);
      expect((await members.list()).map(({ node }) => node)).toEqual(['neighbour']);
      const client = await MongoClient.connect(nodes.mongoUrl);
      onTestFinished(() => client.close());
      expect(await client.db().listCollections().toArray()).toEqual([]);
    },
  );

  it('is refused in one line on a database with a newer schema, and leaves it as it is', async () => {
    const nodes = new Nodes({ count: 1 });
    onTestFinished(() => nodes.remove());
    const client = await MongoClient.connect(nodes.mongoUrl);
    onTestFinished(() => client.close());
    const row = { _id: 'cluster', protocol, schema: schema + 1 };
    await client.db().collection<FormatRow>('formats').insertOne(row);
    await expect(nodes.start()).rejects.toThrow(
      `This node cannot join the cluster: the database has schema ${schema + 1}, and this version supports schema ${schema}.`,
    );
    expect(nodes.at(0).output.trim().split('\n')).toHaveLength(1);
    expect((await client.db().listCollections().toArray()).map(({ name }) => name)).toEqual(['formats']);
    expect(await client.db().collection<FormatRow>('formats').find().toArray()).toEqual([row]);
  });
});

describe('the format in MongoDB', () => {
  const databases = mongoDatabases();
  let client: MongoClient;
  beforeAll(async () => {
    client = await MongoClient.connect(inject('mongoUrl'));
  });
  afterAll(() => client.close());
  const formats = () => client.db(databases.newName()).collection<FormatRow>('formats');
  const claim = (
    rows: Collection<FormatRow>,
    own: ClusterFormat,
    steps: readonly DatabaseStep[] = schemaSteps,
    isEmpty = true,
  ) =>
    claimFormat(
      rows,
      async () => isEmpty,
      (task) => task(client.db(rows.dbName)),
      { ...own, steps },
    );

  it('is that of the first node on an empty database; one with data and no number is refused', async () => {
    const own = { protocol: 7, schema };
    const fresh = formats();
    await claim(fresh, own);
    expect(await fresh.findOne()).toEqual({ _id: 'cluster', ...own });
    const old = formats();
    await expect(claim(old, own, schemaSteps, false)).rejects.toThrow(
      'the database has no schema number, which this version cannot open. The last commit that opens it is 3cbbe45e.',
    );
    expect(await old.findOne()).toBeNull();
  });

  it('follows the node that joined last by one protocol at a time, up and down', async () => {
    const rows = formats();
    for (const next of [5, 6, 7, 6, 5]) await claim(rows, { protocol: next, schema });
    await expect(claim(rows, { protocol: 7, schema })).rejects.toThrow(
      'the database has protocol 5, and this version has protocol 7. Start a version with a protocol from 4 to 6.',
    );
    expect(await rows.findOne()).toMatchObject({ protocol: 5 });
  });

  it('admits one of two nodes that start at once and do not fit', async () => {
    const rows = formats();
    const claims = [1, 3].map((one) => claim(rows, { protocol: one, schema }));
    const outcomes = await Promise.allSettled(claims);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('moves by a step once, again after a node died in it, and a version without it is refused', async () => {
    const rows = formats();
    await claim(rows, { protocol, schema });
    let filled = 0;
    let isKilled = true;
    const fill = async () => {
      filled++;
      if (isKilled) throw new Error('killed');
    };
    const next = { protocol: protocol + 1, schema: schema + 1 };
    const steps = [...schemaSteps, { from: schema, to: schema + 1, fill }];
    await expect(claim(rows, next, steps)).rejects.toThrow('killed');
    expect(await rows.findOne()).toEqual({ _id: 'cluster', protocol, schema });
    isKilled = false;
    await Promise.all([claim(rows, next, steps), claim(rows, next, steps)]);
    await claim(rows, next, steps);
    expect(await rows.findOne()).toEqual({ _id: 'cluster', ...next });
    expect(filled).toBeLessThanOrEqual(3);
    await expect(claim(rows, { protocol, schema })).rejects.toThrow(
      `the database has schema ${schema + 1}, and this version supports schema ${schema}.`,
    );
  });
});
