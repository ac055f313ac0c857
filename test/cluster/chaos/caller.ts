// Calls a node over HTTP and says what is known of the outcome. Retries nothing.
import http from 'node:http';
import type { Call, Ending, History } from './history.ts';

export interface Node {
  readonly name: string;
  readonly port: number;
}

export interface Request {
  readonly body?: unknown;
  readonly cookie?: string;
  readonly key?: string;
  readonly agent?: string;
  readonly bearer?: string;
  readonly timeoutMs?: number;
}

export interface Answer extends Ending {
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  readonly output: any;
  readonly headers: http.IncomingHttpHeaders;
}

const neverSent = new Set(['ECONNREFUSED', 'EADDRNOTAVAIL']);

/** An answer below 500 says that nothing was done unless it is a 2xx; after one above, something may have been. */
const outcomeOf = (status: number): Ending['outcome'] =>
  status >= 200 && status < 300 ? 'ok' : status < 500 ? 'failed' : 'unknown';

export class Caller {
  readonly #agent = new http.Agent({ keepAlive: true, maxSockets: 256, maxFreeSockets: 64 });

  /** Never rejects: a call without an answer is `unknown`, or `failed` when it was never sent. */
  send(node: Node, method: string, path: string, request: Request = {}): Promise<Answer> {
    const text = request.body === undefined ? null : JSON.stringify(request.body);
    const headers: http.OutgoingHttpHeaders = {};
    if (text !== null) {
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = Buffer.byteLength(text);
    }
    const bearer = request.key ?? request.bearer;
    if (bearer) headers.Authorization = `Bearer ${bearer}`;
    else headers['X-Requested-With'] = 'chaos';
    if (request.agent) headers['X-Service-Agent-Id'] = request.agent;
    if (request.cookie) headers.Cookie = request.cookie;
    return new Promise((resolve) => {
      const options = { host: '127.0.0.1', port: node.port, method, path, headers, agent: this.#agent };
      const lost = (code: string) => {
        const outcome = neverSent.has(code) ? ('failed' as const) : ('unknown' as const);
        resolve({ outcome, status: 0, retryAfter: null, output: code, headers: {} });
      };
      const call = http.request(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', () => lost('cut'));
        response.on('aborted', () => lost('cut'));
        response.on('end', () => {
          clearTimeout(timer);
          const status = response.statusCode ?? 0;
          const wait = response.headers['retry-after'];
          resolve({
            outcome: outcomeOf(status),
            status,
            retryAfter: wait === undefined ? null : Number(wait),
            output: readBody(Buffer.concat(chunks).toString(), response.headers['content-type'] ?? ''),
            headers: response.headers,
          });
        });
      });
      const timer = setTimeout(() => {
        call.destroy();
        lost('timeout');
      }, request.timeoutMs ?? 15_000);
      call.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(timer);
        lost(error.code ?? error.message);
      });
      call.end(text ?? undefined);
    });
  }

  /** The same, noted in the history. */
  async note<Input>(
    history: History,
    op: string,
    input: Input,
    ...[node, method, path, request]: Parameters<Caller['send']>
  ): Promise<Call<Input, Answer['output']>> {
    const end = history.begin(op, input, node.name);
    const { outcome, status, retryAfter, output } = await this.send(node, method, path, request);
    return end({ outcome, status, retryAfter, output });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function readBody(text: string, type: string): unknown {
  if (!type.includes('json') || text === '') return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
