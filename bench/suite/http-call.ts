// One HTTP request over kept connections, and the whole answer.
import http from 'node:http';
import https from 'node:https';
import { answerLimitMs, limitText } from './time-limit.ts';

export interface HttpCall {
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  /** Milliseconds that a refusal asks to wait for (Retry-After in seconds); null without any. */
  readonly retryAfterMs: number | null;
}

function retryAfterOf({ headers }: http.IncomingMessage): number | null {
  const text = headers['retry-after'] ?? '';
  return /^\d+$/.test(text) ? Number(text) * 1000 : null;
}

export const refusalOf = ({ method, path }: HttpCall, status: number, text: string): Error =>
  new Error(`${method} ${path}: ${status} ${text.slice(0, 200)}`);

const refusalStatuses: ReadonlySet<number> = new Set([429, 503]);
/** Delay before a refused request is sent again, where the refusal names none. */
const retryMs = 250;
/** Longest time from the first try of a request to its last, milliseconds. */
const maxRefusedMs = 60_000;

export const isAccepted = (status: number): boolean => status >= 200 && status <= 299;
export const isRefused = (status: number): boolean => refusalStatuses.has(status);

function lastRefusalOf({ message }: Error, refusedMs: number, waitMs: number): Error {
  const [refusedSeconds, waitSeconds] = [refusedMs, waitMs].map((ms) => Math.round(ms / 100) / 10);
  return new Error(
    `${message} It was refused for ${refusedSeconds} s, and its next try is due in ${waitSeconds} s. ` +
      `A request is tried for ${maxRefusedMs / 1000} s at most.`,
  );
}

/** Calls of one origin. */
export class HttpCaller {
  readonly #origin: URL;
  readonly #agent: http.Agent;
  readonly #timeout: number;

  /**
   * @param maxSockets connections at once. Default: no limit
   * @param timeout longest silence of the origin during a call, milliseconds
   */
  constructor(origin: string, maxSockets = Number.POSITIVE_INFINITY, timeout = answerLimitMs) {
    this.#origin = new URL(origin);
    this.#timeout = timeout;
    const kind = this.#origin.protocol === 'https:' ? https.Agent : http.Agent;
    this.#agent = new kind({ keepAlive: true, maxSockets, timeout });
  }

  /** Resolves with the last byte of the answer. @throws Error if there is none, also after a minute's silence */
  answer({ method, path, headers, body }: HttpCall): Promise<HttpAnswer> {
    const { request } = this.#origin.protocol === 'https:' ? https : http;
    return new Promise((resolve, reject) => {
      const sent = request(
        new URL(path, this.#origin),
        { agent: this.#agent, method, headers, timeout: this.#timeout },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part: Buffer) => parts.push(part));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              text: Buffer.concat(parts).toString(),
              retryAfterMs: retryAfterOf(response),
            }),
          );
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no byte came ${limitText(this.#timeout)}`)));
      sent.on('error', (error) => reject(new Error(`${method} ${path} was not answered: ${error.message}`)));
      sent.end(body);
    });
  }

  /** @throws Error with the answer if it is not 2xx */
  async call(call: HttpCall): Promise<string> {
    const { status, text } = await this.answer(call);
    if (isAccepted(status)) return text;
    throw refusalOf(call, status, text);
  }

  /**
   * Repeats a refused call after its Retry-After, for a minute at most.
   * @param refused called at each refusal
   * @throws Error with the last answer
   */
  async callUntilAccepted(call: HttpCall, refused: () => void): Promise<string> {
    const began = performance.now();
    for (;;) {
      const { status, text, retryAfterMs } = await this.answer(call);
      if (isAccepted(status)) return text;
      if (!isRefused(status)) throw refusalOf(call, status, text);
      refused();
      const waitMs = Math.max(retryMs, retryAfterMs ?? 0);
      const refusedMs = performance.now() - began;
      if (refusedMs + waitMs > maxRefusedMs)
        throw lastRefusalOf(refusalOf(call, status, text), refusedMs, waitMs);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}
