// Which requests over HTTP are refused before anything judges them, and which era they belong to.
import type { IncomingHttpHeaders } from 'node:http';
import { fieldsOf } from '../../fields.ts';
import { clientCapabilitiesKey, legacyVersions, modernVersion, versionOf } from './era.ts';
import { headerMismatch } from './headers.ts';
import { codes, type Id, type Message, type Notification, type Request } from './message.ts';

/** A request that is answered with an HTTP status and nothing else. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly id: Id | null;
  readonly data: unknown;

  constructor(status: number, code: number, message: string, id: Id | null = null, data?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.id = id;
    this.data = data;
  }
}

export const readerOf =
  (headers: IncomingHttpHeaders) =>
  (name: string): string | null => {
    const value = headers[name.toLowerCase()];
    return typeof value === 'string' ? value : null;
  };

/**
 * The message of a modern client in a POST, its headers compared with it; null: the POST belongs to a legacy session.
 * @throws Refusal
 */
export function modernMessageOf(
  messages: readonly Message[],
  headers: IncomingHttpHeaders,
): Request | Notification | null {
  const [first] = messages;
  const read = readerOf(headers);
  const header = read('mcp-protocol-version')?.trim() ?? null;
  const isClaimed = (message: Message): boolean => message.kind !== 'response' && versionOf(message) !== null;
  if (messages.length > 1 && messages.some(isClaimed))
    throw new Refusal(400, codes.invalid, 'a message of this revision stands alone: batches are refused');
  if (!first) return null;
  const id = first.kind === 'notification' ? null : first.id;
  const isOld = header === null || legacyVersions.includes(header);
  if (first.kind === 'response' || !isClaimed(first)) {
    if (isOld) return null;
    if (header !== modernVersion) throw unsupported(header, id);
    if (first.kind === 'notification') return first;
    if (first.kind === 'response')
      throw new Refusal(400, codes.invalid, 'this revision has no answers of clients');
    throw new Refusal(
      400,
      codes.params,
      `params._meta must have ${clientCapabilitiesKey} and the version`,
      id,
    );
  }
  const version = versionOf(first);
  if (typeof version !== 'string')
    throw new Refusal(400, codes.params, 'the protocol version must be a string', id);
  if (header !== null && header !== version)
    throw new Refusal(
      400,
      codes.headerMismatch,
      'the header MCP-Protocol-Version is not that of the body',
      id,
    );
  if (version !== modernVersion) throw unsupported(version, id);
  if (first.kind === 'notification') return first;
  const capabilities = fieldsOf(first.params._meta)[clientCapabilitiesKey];
  if (typeof capabilities !== 'object' || capabilities === null || Array.isArray(capabilities))
    throw new Refusal(400, codes.params, `params._meta must have ${clientCapabilitiesKey}, an object`, id);
  const mismatch = headerMismatch(first, modernVersion, read);
  if (mismatch !== null) throw new Refusal(400, codes.headerMismatch, mismatch, id);
  return first;
}

const unsupported = (requested: string | null, id: Id | null): Refusal =>
  new Refusal(400, codes.unsupportedVersion, 'Unsupported protocol version', id, {
    supported: [modernVersion],
    requested,
  });
