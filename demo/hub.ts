// The demo's hub and the person at its console: a hub in a temporary folder on a free loopback port, and the calls an
// admin makes.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { StreamFollower, sseTransport, systemClock } from 'reeve-agent';
import { readConfig } from '../src/hub/config.ts';
import { type RunningHub, startHub } from '../src/hub/hub.ts';

/** An approval that waits for a person. */
export interface Waiting {
  readonly id: string;
  readonly agent: string;
  readonly tool: string;
  readonly message: string;
}

/** An event as the hub gives it back. */
export interface StoredEvent {
  readonly call_id: string;
  readonly agent_id: string;
  readonly tool_name: string;
  readonly verdict: string;
  readonly mode: string;
  readonly timestamp: string;
  readonly payload: {
    readonly decision_name?: string | null;
    readonly tool_args?: { readonly [name: string]: unknown };
  };
  readonly outcomes: readonly { readonly verdict: string }[];
}

const email = 'admin@example.com';

export class DemoHub {
  readonly url: string;
  readonly #hub: RunningHub;
  readonly #dashboard: StreamFollower;
  readonly #cookie: string;

  /** Resolves when approvals can arrive. */
  readonly #listening: Promise<void>;

  private constructor(url: string, hub: RunningHub, cookie: string, waiting: (approval: Waiting) => void) {
    let opened = (): void => {};
    this.#listening = new Promise((resolve) => {
      opened = resolve;
    });
    this.url = url;
    this.#hub = hub;
    this.#cookie = cookie;
    this.#dashboard = new StreamFollower({
      transport: sseTransport(fetch),
      clock: systemClock,
      url: `${url}/api/v1/stream/dashboard`,
      headers: { Cookie: cookie },
      query: () => ({}),
      onOpen: () => opened(),
      onFrame: (event, data) => {
        if (event !== 'approval_created') return;
        const { approval_id: id, agent_id: agent, tool_name: tool, message } = data;
        waiting({ id: String(id), agent: String(agent), tool: String(tool), message: String(message) });
      },
    });
  }

  /** Starts the hub on data in `folder`, makes its admin and signs in. `waiting` receives every requested approval. */
  static async start(folder: string, waiting: (approval: Waiting) => void): Promise<DemoHub> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const hub = await startHub(
      readConfig({
        PORT: String(port),
        HOST: '127.0.0.1',
        BASE_URL: url,
        DATA_DIR: folder,
        LOG_LEVEL: 'silent',
        DRAIN_SECONDS: '0',
      }),
    );
    try {
      const password = randomBytes(18).toString('base64url');
      await call(url, 'POST', '/api/v1/setup', '', { email, password });
      const { headers } = await call(url, 'POST', '/api/v1/auth/login', '', { email, password });
      const cookie = (headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
      const demo = new DemoHub(url, hub, cookie, waiting);
      demo.#dashboard.start();
      await demo.#listening;
      return demo;
    } catch (failure) {
      await hub.stop();
      throw failure;
    }
  }

  /** A key for agents in production. */
  async key(): Promise<string> {
    return ((await this.#call('POST', '/keys', { env: 'production', label: 'demo' })) as { key: string }).key;
  }

  /** Uploads the YAML and deploys it to production. */
  async deploy(yaml: string): Promise<{ readonly name: string; readonly version: number }> {
    const bundle = (await this.#call('POST', '/bundles', { yaml_content: yaml })) as {
      name: string;
      version: number;
    };
    await this.#call('POST', `/bundles/${bundle.name}/${bundle.version}/deploy`, { env: 'production' });
    return bundle;
  }

  async approve(id: string): Promise<void> {
    await this.#call('PUT', `/approvals/${id}`, { approved: true, reason: 'the demo approves itself' });
  }

  /** An address that opens the web console, signed in as the admin, once, within 5 minutes. */
  loginLink(): string {
    return this.#hub.loginLink();
  }

  /** The line with which a person approves from another terminal. */
  approveLine(id: string): string {
    return [
      `curl -s -X PUT ${this.url}/api/v1/approvals/${id}`,
      `-H 'Cookie: ${this.#cookie}' -H 'X-Requested-With: curl' -H 'Content-Type: application/json'`,
      `-d '{"approved":true,"reason":"fine"}'`,
    ].join(' \\\n    ');
  }

  /** Every event it holds, oldest first. */
  async events(): Promise<StoredEvent[]> {
    const events = (await this.#call('GET', '/events?limit=100')) as StoredEvent[];
    return events.sort((a, b) => a.timestamp.localeCompare(b.timestamp));
  }

  /** Agents by the state of their bundle. */
  async agents(): Promise<{ readonly agent_id: string; readonly status: string }[]> {
    const { agents } = (await this.#call('GET', '/agents/status')) as {
      agents: { agent_id: string; status: string }[];
    };
    return agents;
  }

  async stop(): Promise<void> {
    await this.#dashboard.close();
    await this.#hub.stop();
  }

  async #call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await call(this.url, method, `/api/v1${path}`, this.#cookie, body);
    return response.json();
  }
}

async function call(
  url: string,
  method: string,
  path: string,
  cookie: string,
  body?: unknown,
): Promise<Response> {
  const response = await fetch(url + path, {
    method,
    headers: { 'X-Requested-With': 'demo', 'Content-Type': 'application/json', Cookie: cookie },
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response;
}

/** The hub states its own address, so it must know its port before it starts. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const closed = once(server, 'close');
  server.close();
  await closed;
  return typeof address === 'object' && address ? address.port : 0;
}
