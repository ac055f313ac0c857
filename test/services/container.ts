// A server in a docker container as a service. Its data live in the container, which is removed at the end.
import { randomUUID } from 'node:crypto';
import { freePort } from '../../bench/suite/free-port.ts';
import { output } from './command.ts';
import { type Service, until } from './service.ts';

export interface Image {
  readonly image: string;
  /** The server's port inside the container. */
  readonly port: number;
  readonly args: readonly string[];
  readonly url: (port: number) => string;
  readonly answers: (url: string) => Promise<void>;
}

const docker = (...args: string[]) => output('docker', args, 600_000);

export async function runContainer(what: Image): Promise<Service & { remove(): Promise<void> }> {
  const name = `reeve-test-${randomUUID()}`;
  const port = await freePort();
  const url = what.url(port);
  await docker('run', '-d', '--name', name, '-p', `127.0.0.1:${port}:${what.port}`, what.image, ...what.args);
  const ready = () => until(what.image, () => what.answers(url), undefined, 60_000);
  let pid: number | null = null;
  const find = async () => {
    pid = Number(await docker('inspect', '--format', '{{.State.Pid}}', name)) || null;
  };
  const remove = async () => {
    await docker('rm', '-f', '-v', name);
  };
  try {
    await ready();
    await find();
  } catch (error) {
    await remove();
    throw error;
  }
  return {
    url,
    get pid() {
      return pid;
    },
    async kill9() {
      await docker('kill', '--signal', 'KILL', name);
      await docker('wait', name);
    },
    async start() {
      await docker('start', name);
      await ready();
      await find();
    },
    async pause() {
      await docker('pause', name);
    },
    async resume() {
      await docker('unpause', name);
    },
    remove,
  };
}
