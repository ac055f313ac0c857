// Looks at a MongoDB server and its database without changing them: for `reeve doctor`.

import type { Channel } from '../../src/notification/record.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { type ChannelRow, channelOf } from './channels.ts';
import { databaseConflict, type FormatRow } from './cluster-format.ts';
import { connect, databaseOf, notOpened } from './index.ts';
import { unindexedCollections } from './indexes.ts';
import type { KeyCheckRow } from './key-check.ts';
import { markerId, markers } from './move/marker.ts';

export interface MongoFacts {
  readonly version: string;
  /** Member of a replica set, or a router of a sharded cluster. */
  readonly isReplicated: boolean;
  readonly takesWrites: boolean;
  /** The server's time less this machine's, in milliseconds. */
  readonly clockErrorMs: number;
  readonly unindexed: readonly string[];
  /** Why this version cannot use the database; null if it can. */
  readonly conflict: string | null;
  readonly hasUnfinishedMove: boolean;
  /** The text that only the right master secret opens; null before the first start. */
  readonly sealed: string | null;
  readonly channels: readonly Channel[];
}

/** @throws HubError unavailable when no server answers within about 2 s */
export async function mongoFacts(url: string, now: () => number, log: Log): Promise<MongoFacts> {
  const client = connect(url);
  try {
    await client.connect();
    const db = client.db(databaseOf(url));
    const before = now();
    const hello = await db.admin().command({ hello: 1 });
    const middle = (before + now()) / 2;
    const format = await db.collection<FormatRow>('formats').findOne();
    const marker = await markers(db).findOne({ _id: markerId });
    const seal = await db.collection<KeyCheckRow>('seals').findOne({ _id: 'master' });
    const rows = await db.collection<ChannelRow>('channels').find({ enabled: true }).toArray();
    const info = await db.admin().command({ buildInfo: 1 });
    return {
      version: String(info.version),
      isReplicated: hello.setName !== undefined || hello.msg === 'isdbgrid',
      takesWrites: hello.isWritablePrimary === true,
      clockErrorMs: Math.round(new Date(hello.localTime).getTime() - middle),
      unindexed: await unindexedCollections(db),
      conflict: format ? databaseConflict(format) : null,
      hasUnfinishedMove: marker !== null && marker.endedAt === null,
      sealed: seal?.value ?? null,
      channels: rows.map(channelOf),
    };
  } catch (error) {
    throw notOpened(error, client.options.tls === true, log);
  } finally {
    await client.close();
  }
}
