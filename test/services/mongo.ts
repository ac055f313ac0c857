// A server of MongoDB's protocol: the one given, mongod, a container, or SecantusDB from pip, in this order.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { dockerWorks, onPath, pipVenv } from './command.ts';
import { runContainer } from './container.ts';
import type { Reaper } from './reaper.ts';
import { external, run, type Service, say } from './service.ts';

const url = (port: number): string => `mongodb://127.0.0.1:${port}/?directConnection=true`;

/**
 * Resolves when the server takes writes; makes it a replica set of one (whose member is `member`) when it is not yet in
 * one.
 */
const answers =
  (member?: (url: string) => string) =>
  async (address: string): Promise<void> => {
    const client = new MongoClient(address, { serverSelectionTimeoutMS: 1000, connectTimeoutMS: 1000 });
    try {
      const admin = client.db('admin');
      const hello = await admin.command({ hello: 1 });
      if (hello.isWritablePrimary === true) return;
      if (member && hello.setName === undefined) {
        const members = [{ _id: 0, host: member(address) }];
        await admin.command({ replSetInitiate: { _id: 'reeve', members } });
      }
      throw new Error('not primary yet');
    } finally {
      await client.close();
    }
  };

export interface MongoWishes {
  /** One that may be killed, so not the given one. */
  readonly own?: boolean;
  /** False for one that nobody kills: what it acknowledges need not be on disk. */
  readonly forced?: boolean;
}

/** Starts or finds the server. */
export async function startMongo(
  reaper: Reaper,
  { own = false, forced = true }: MongoWishes = {},
): Promise<Service & { remove?(): Promise<void> }> {
  const address = process.env.MONGODB_URL;
  if (address && !own) {
    say('MongoDB: the server of MONGODB_URL');
    return external(address);
  }
  const data = join(reaper.folder, `mongo-${Math.random().toString(36).slice(2)}`);
  await mkdir(data);
  const mongod = await onPath('mongod');
  if (mongod !== null) {
    say(`MongoDB: ${mongod}`);
    const args = (port: number) =>
      ['--replSet', 'reeve', '--port', String(port), '--bind_ip', '127.0.0.1', '--dbpath', data].concat(
        '--nounixsocket',
        '--quiet',
      );
    const member = (at: string) => new URL(at).host;
    return run({ name: 'mongod', command: mongod, args, url, answers: answers(member) }, reaper);
  }
  if (await dockerWorks()) {
    say('MongoDB: docker image mongo:8');
    const args = ['--replSet', 'reeve', '--bind_ip_all'];
    return runContainer({
      image: 'mongo:8',
      port: 27017,
      args,
      url,
      answers: answers(() => '127.0.0.1:27017'),
    });
  }
  const bin = await pipVenv('venv', 'SecantusDB==0.7.0b3').catch((error: Error) => {
    throw new Error(
      `The cluster tests need a MongoDB server: install mongod, start docker, install python3 with venv and pip, or set MONGODB_URL (${error.message.split('\n')[0]}).`,
      { cause: error },
    );
  });
  say('MongoDB: SecantusDB');
  const args = (port: number) =>
    ['--host', '127.0.0.1', '--port', String(port), '--storage-path', data].concat(
      ...(forced ? ['--sync-on-commit'] : []),
      ...['--log-level', 'WARNING'],
    );
  return run(
    { name: 'SecantusDB', command: join(bin, 'secantusd-py'), args, url, answers: answers() },
    reaper,
  );
}
