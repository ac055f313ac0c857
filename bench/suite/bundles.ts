// Bundles of a chosen size, deployed through the public API, and the requests that open agents' streams.
import type { Admin } from '../admin.ts';

const bundleOf = (bytes: number, n: number): string => {
  const head = `apiVersion: service/v1
kind: ContractBundle
metadata: {name: bench}
defaults: {mode: enforce}
contracts:
  - {id: a, type: pre, tool: t${n}, when: {args.a: {exists: true}}, then: {effect: deny, message: no}}
`;
  // Base64 makes four bytes of three.
  const padding = Math.max(0, Math.floor((bytes * 3) / 4) - head.length - 3);
  return `${head}# ${'x'.repeat(padding)}\n`;
};

export const transports = ['sse', 'json', 'msgpack'] as const;
/** Server-sent events, or a WebSocket with that encoding. */
export type Transport = (typeof transports)[number];

export interface StreamForm {
  /** Default: `sse` */
  readonly transport?: Transport;
  /** The agent has the deployed version, so the hub sends nothing but the greeting. Default: true */
  readonly isCurrent?: boolean;
}

/** The key is the example of RFC 6455: nobody checks the answer to it. */
const upgradeOf = (transport: Transport): string =>
  transport === 'sse'
    ? ''
    : 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
      `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reeve.v1.${transport}\r\n`;

/** Deploys bundles to `production` of an admin's tenant. */
export class BundleDeployer {
  readonly #admin: Admin;
  readonly #key: string;
  #next = 0;
  #revision = '';

  constructor(admin: Admin, key: string) {
    this.#admin = admin;
    this.#key = key;
  }

  /**
   * Saves a new version whose frame has about `bytes` bytes.
   * @returns a call that deploys the version
   */
  async prepare(bytes: number): Promise<() => Promise<void>> {
    const saved = await this.#admin.call<{ readonly version: number; readonly revision_hash: string }>(
      'POST',
      '/api/v1/bundles',
      { yaml_content: bundleOf(bytes, this.#next++) },
    );
    return async () => {
      await this.#admin.call('POST', `/api/v1/bundles/bench/${saved.version}/deploy`, { env: 'production' });
      this.#revision = saved.revision_hash;
    };
  }

  async deploy(bytes: number): Promise<void> {
    await (await this.prepare(bytes))();
  }

  /** The bytes that open the stream of `{agent}`. */
  streamRequest({ transport = 'sse', isCurrent = true }: StreamForm = {}): string {
    const version = isCurrent ? `&policy_version=${this.#revision}` : '';
    return (
      `GET /api/v1/stream?env=production${version} HTTP/1.1\r\nHost: a\r\n` +
      `Authorization: Bearer ${this.#key}\r\nX-Service-Agent-Id: {agent}\r\n${upgradeOf(transport)}\r\n`
    );
  }
}
