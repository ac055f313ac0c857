// The two ways of speaking MCP: legacy (2024-11-05 to 2025-11-25) begins with a handshake; modern (2026-07-28) says in
// every request who asks, and in every result of what kind it is.
import type { Request } from './message.ts';

type Fields = { readonly [name: string]: unknown };
const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? (value as Fields) : {};

export interface Era {
  readonly isModern: boolean;
  /** Members of a request's `_meta` that its server needs; everything else is not sent. */
  meta(request: Request): Fields;
  /** A result as it is judged: without the words of the protocol. */
  decode(result: unknown): unknown;
  /** A result as the client of this era reads it. */
  encode(result: unknown): unknown;
  /** The same for a list. */
  encodeList(result: Fields): Fields;
  /** Why the result cannot be handed on; null: it ends the call, as results do. */
  unendedReason(result: unknown): string | null;
  /** A member that makes a request the retry of another one; null: there is none. */
  retryMember(request: Request): string | null;
  /** The answer to `server/discover`, with the capabilities that the proxy has. */
  encodeDiscovery(result: Fields, capabilities: Fields): Fields;
}

/** Legacy revisions, which clients agree on in their handshake. */
const legacyVersions: readonly unknown[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
export const modernVersion = '2026-07-28';

const versionKey = 'io.modelcontextprotocol/protocolVersion';
const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
const clientInfoKey = 'io.modelcontextprotocol/clientInfo';
const tasksKey = 'io.modelcontextprotocol/tasks';
const metaKeys = [
  versionKey,
  clientInfoKey,
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
];

/** How long a client may keep a list that other contracts would change; milliseconds. */
const longestTtl = 60_000;

const legacy: Era = {
  isModern: false,
  meta: () => ({}),
  decode: (result) => result,
  encode: (result) => result,
  encodeList: (result) => result,
  unendedReason: () => null,
  retryMember: () => null,
  encodeDiscovery: (result, capabilities) => ({ ...result, capabilities }),
};

const modern: Era = {
  isModern: true,
  meta({ params }) {
    const meta = fieldsOf(params._meta);
    return Object.fromEntries(metaKeys.flatMap((key) => (key in meta ? [[key, meta[key]]] : [])));
  },
  decode(result) {
    if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
    const { resultType, _meta: meta, ...others } = result as Fields;
    // The client has the server's name from `server/discover`; here a contract would see it as the tool's text.
    const { [serverInfoKey]: _, ...rest } = fieldsOf(meta);
    return { ...others, ...(Object.keys(rest).length > 0 ? { _meta: rest } : {}) };
  },
  encode: (result) => ({ ...fieldsOf(result), resultType: 'complete' }),
  encodeList(result) {
    const { ttlMs } = result;
    const ttl = typeof ttlMs === 'number' && ttlMs >= 0 ? Math.min(ttlMs, longestTtl) : 0;
    return { ...result, resultType: 'complete', ttlMs: ttl, cacheScope: 'private' };
  },
  unendedReason(result) {
    const { resultType } = fieldsOf(result);
    if (resultType === undefined || resultType === 'complete') return null;
    // Other words of the server would reach the model unjudged.
    const kind = resultType === 'input_required' || resultType === 'task' ? ` "${resultType}"` : '';
    return `The tool did not finish: the proxy does not hand on results of the kind${kind || ' that it sent'}.`;
  },
  retryMember: ({ params }) => ['inputResponses', 'requestState'].find((member) => member in params) ?? null,
  encodeDiscovery(result, capabilities) {
    const { supportedVersions } = result;
    const { [tasksKey]: _, ...extensions } = fieldsOf(capabilities.extensions);
    return modern.encodeList({
      ...result,
      supportedVersions: (Array.isArray(supportedVersions) ? supportedVersions : []).filter(
        (version) => version === modernVersion || legacyVersions.includes(version),
      ),
      capabilities: capabilities.extensions === undefined ? capabilities : { ...capabilities, extensions },
    });
  },
};

/** The revision that a request names itself; null: it names none. */
export const versionOf = ({ params }: Request): unknown => fieldsOf(params._meta)[versionKey] ?? null;

export const eraOf = (request: Request): Era => (versionOf(request) === modernVersion ? modern : legacy);

/** The name of the client in a modern request; null: it says none. */
export function clientNameOf({ params }: Request): string | null {
  const { name } = fieldsOf(fieldsOf(params._meta)[clientInfoKey]);
  return typeof name === 'string' ? name : null;
}

/** The server's name and version in a modern result. */
export const serverInfoOf = (result: Fields): unknown => fieldsOf(result._meta)[serverInfoKey];

export const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

/** True for the open request of a modern client that awaits changes of this list. */
export const isListening = ({ method, params }: Request, list: string): boolean =>
  method === 'subscriptions/listen' && fieldsOf(params.notifications)[`${list}ListChanged`] === true;
