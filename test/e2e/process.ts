// A real hub process for end-to-end tests: started from the compiled files on a free port, stopped or killed, restarted
// on the same data.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../bench/suite/free-port.ts';

/** The compiled process. */
export const mainFile = new URL('../../dist/src/main.js', import.meta.url).pathname;

/** The HTTP server that the environment of the tests names (scripts/test-nodes.mjs). */
const { HTTP_SERVER } = process.env;
const chosenServer = HTTP_SERVER === undefined ? {} : { HTTP_SERVER };

/** Runs the process to its own end, as another user where one is given. */
export async function run(
  env: { readonly [name: string]: string },
  args: readonly string[] = [],
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<{ readonly code: number | null; readonly text: string }> {
  const child = spawn(process.execPath, [mainFile, ...args], {
    env: { PATH: process.env.PATH ?? '', ...chosenServer, HOST: '127.0.0.1', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

export const lines = (text: string): string[] => text.trim().split('\n');

export class HubProcess {
  /** Contains the data, unless the settings name another folder. Created by the first start. */
  readonly folder = join(tmpdir(), `reeve-e2e-${randomUUID()}`);
  /** Created by the first start. */
  readonly dataDir: string;
  readonly settings: { readonly [name: string]: string };
  readonly #main: string;
  port = 0;
  /** Printed since the last start. */
  output = '';
  /** Printed by all of its processes. */
  printed = '';
  child: ChildProcess | null = null;

  /** @param main the compiled program. Default: this build's */
  constructor(settings: { readonly [name: string]: string } = {}, main = mainFile) {
    this.#main = main;
    this.dataDir = join(this.folder, 'data');
    this.settings = settings;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get #isRunning(): boolean {
    return this.child !== null && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Starts the process and waits for its listening line; a start after the first takes the same port. */
  async start(): Promise<void> {
    if (!existsSync(this.#main)) throw new Error('dist is missing: run npm run build first');
    // The port can be shared, so a second process would start, and the first one would never end.
    if (this.#isRunning) throw new Error('the hub is running: stop or kill it before another start');
    // A port of our own choice, so that it can be taken again after a kill (one that the system chose would rest for a
    // minute).
    if (this.port === 0) this.port = await freePort();
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    const child = spawn(process.execPath, [this.#main], {
      env: {
        PATH: process.env.PATH ?? '',
        ...chosenServer,
        HOST: '127.0.0.1',
        PORT: String(this.port),
        DATA_DIR: this.dataDir,
        DRAIN_SECONDS: '0',
        ...this.settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      const take = (chunk: Buffer): void => {
        this.output += chunk.toString();
        this.printed += chunk.toString();
        if (/Reeve is listening on http:/.test(this.output)) resolve();
      };
      child.stdout?.on('data', take);
      child.stderr?.on('data', take);
      child.once('exit', (code) => reject(new Error(`the hub ended with ${code}:\n${this.output}`)));
    });
  }

  /** kill -9: nothing gets a chance to be saved. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM; returns the exit code. */
  async stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.child;
    if (!child || !this.#isRunning) return child?.exitCode ?? null;
    const ended = once(child, 'exit');
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    this.output = '';
    return code;
  }

  async remove(): Promise<void> {
    await this.#end('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** A JSON call; returns status, headers and the parsed body. */
  async call(
    method: string,
    path: string,
    options: {
      body?: unknown;
      cookie?: string;
      key?: string;
      agent?: string;
      headers?: { [name: string]: string };
    } = {},
    // biome-ignore lint/suspicious/noExplicitAny: the tests read answers of many shapes
  ): Promise<{ status: number; headers: Headers; body: any }> {
    const headers: { [name: string]: string } = { 'X-Requested-With': 'test', ...options.headers };
    if (options.key) {
      headers.Authorization = `Bearer ${options.key}`;
      delete headers['X-Requested-With'];
    }
    if (options.agent) headers['X-Service-Agent-Id'] = options.agent;
    if (options.cookie) headers.Cookie = options.cookie;
    if (options.body !== undefined && !headers['Content-Type']) headers['Content-Type'] = 'application/json';
    const response = await fetch(this.url + path, {
      method,
      headers,
      ...(options.body === undefined
        ? {}
        : { body: typeof options.body === 'string' ? options.body : JSON.stringify(options.body) }),
    });
    const text = await response.text();
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      body: isJson && text !== '' ? JSON.parse(text) : text,
    };
  }

  /** A user's address. */
  emailOf(name: string): string {
    return `${name}@example.com`;
  }

  /** Sets up the first admin and signs in; returns the cookie. */
  async admin(email = 'admin@example.com', password = 'correct horse battery'): Promise<string> {
    await this.call('POST', '/api/v1/setup', { body: { email, password } });
    return this.login(email, password);
  }

  async login(email = 'admin@example.com', password = 'correct horse battery'): Promise<string> {
    const answer = await this.call('POST', '/api/v1/auth/login', { body: { email, password } });
    return (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
  }

  async key(cookie: string, env = 'production'): Promise<{ id: string; key: string }> {
    const answer = await this.call('POST', '/api/v1/keys', { cookie, body: { env, label: 'test' } });
    return answer.body;
  }
}
