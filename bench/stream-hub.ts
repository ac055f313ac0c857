// The whole hub in this process, for benchmarks: real edge, actors, store and bus in a temporary folder, with an admin,
// a key and a bundle.
import { startHub as start } from '../src/bootstrap/hub.ts';
import { setUp } from './admin.ts';
import { benchFolder } from './folder.ts';
import { streamRequest } from './stream-client.ts';

export interface BenchHub {
  readonly port: number;
  readonly url: string;
  readonly key: string;
  /**
   * What a client sends to open an agent's stream; it says that it runs the current revision, so nothing has to be
   * caught up.
   */
  request(agent: string): string;
  streams(): number;
  /**
   * Saves and deploys a new version whose frame carries about this many bytes. Resolves when the deployment is
   * answered.
   */
  deploy(bytes: number): Promise<void>;
  /** The same, with the saving apart: resolves with the deploying call. */
  prepare(bytes: number): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const bundle = (bytes: number, salt: number): string => {
  const head = `apiVersion: service/v1
kind: ContractBundle
metadata: {name: bench}
defaults: {mode: enforce}
contracts:
  - {id: a, type: pre, tool: t${salt}, when: {args.a: {exists: true}}, then: {effect: deny, message: no}}
`;
  // Base64 makes four bytes of three.
  const padding = Math.max(0, Math.floor((bytes * 3) / 4) - head.length - 3);
  return `${head}# ${'x'.repeat(padding)}\n`;
};

export async function startHub(): Promise<BenchHub> {
  const folder = benchFolder();
  const hub = await start(folder.config);
  const url = `http://127.0.0.1:${hub.port}`;
  const admin = await setUp(url);
  const key = await admin.newKey();
  let salt = 0;
  let revision = '';

  const made: BenchHub = {
    port: hub.port,
    url,
    key,
    request: (agent) => streamRequest({ env: 'production', key, revision, agent }),
    streams: () => hub.streams(),
    async deploy(bytes) {
      await (await made.prepare(bytes))();
    },
    async prepare(bytes) {
      const yaml = bundle(bytes, salt++);
      const saved = await admin.call<{ readonly version: number; readonly revision_hash: string }>(
        'POST',
        '/api/v1/bundles',
        { yaml_content: yaml },
      );
      return async () => {
        await admin.call('POST', `/api/v1/bundles/bench/${saved.version}/deploy`, { env: 'production' });
        revision = saved.revision_hash;
      };
    },
    async close() {
      await hub.stop();
      folder.remove();
    },
  };
  await made.deploy(1024);
  return made;
}
