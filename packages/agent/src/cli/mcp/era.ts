// The two eras of MCP: legacy (2024-11-05 to 2025-11-25) begins with a handshake; in modern (2026-07-28) every request
// contains its client, and every result its kind.
import { type Fields, fieldsOf, without } from '../../fields.ts';
import type { Request } from './message.ts';
import { traceOf } from './trace.ts';

export interface Era {
  readonly isModern: boolean;
  /** Members of a request's `_meta` that its server needs, and its trace; everything else is not sent. */
  meta(request: Request): Fields;
  /** A result as it is judged: without the words of the protocol. */
  decode(result: unknown): unknown;
  /** A result as the client of this era reads it. */
  encode(result: unknown): unknown;
  /** The same for a list. */
  encodeList(result: Fields): Fields;
  /** Reason against handing the result on; null: the result ends the call. */
  unendedReason(result: unknown): string | null;
  /**
   * The answer to `server/discover`, with the capabilities that the proxy has.
   * @param hasTasks the proxy answers calls with tasks
   */
  encodeDiscovery(result: Fields, capabilities: Fields, hasTasks: boolean): Fields;
}

/** Legacy revisions, which clients agree on in their handshake. */
export const legacyVersions: readonly unknown[] = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
export const modernVersion = '2026-07-28';

export const versionKey = 'io.modelcontextprotocol/protocolVersion';
export const serverInfoKey = 'io.modelcontextprotocol/serverInfo';
export const clientInfoKey = 'io.modelcontextprotocol/clientInfo';
/** The extension of tasks, among a side's capabilities. */
export const tasksKey = 'io.modelcontextprotocol/tasks';
export const clientCapabilitiesKey = 'io.modelcontextprotocol/clientCapabilities';
export const logLevelKey = 'io.modelcontextprotocol/logLevel';
const metaKeys = [versionKey, clientInfoKey, clientCapabilitiesKey, logLevelKey];
/** Methods whose results contain the time that a client may keep them. */
const cacheableMethods = [
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
];

/** Time that a client may keep a list that other contracts would change; milliseconds. */
const longestTtl = 60_000;

const legacy: Era = {
  isModern: false,
  meta: ({ params }) => traceOf(params._meta),
  decode: (result) => result,
  encode: (result) => result,
  encodeList: (result) => result,
  unendedReason: () => null,
  encodeDiscovery: (result, capabilities) => ({ ...result, capabilities }),
};

const modern: Era = {
  isModern: true,
  meta({ params }) {
    const meta = fieldsOf(params._meta);
    const envelope = Object.fromEntries(metaKeys.flatMap((key) => (key in meta ? [[key, meta[key]]] : [])));
    const capabilities = fieldsOf(meta[clientCapabilitiesKey]);
    const extensions = without(fieldsOf(capabilities.extensions), tasksKey);
    // Tasks are the proxy's own.
    const own = capabilities.extensions === undefined ? capabilities : { ...capabilities, extensions };
    return {
      ...envelope,
      ...(clientCapabilitiesKey in meta ? { [clientCapabilitiesKey]: own } : {}),
      ...traceOf(meta),
    };
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
  encodeDiscovery(result, capabilities, hasTasks) {
    const { supportedVersions } = result;
    const others = without(fieldsOf(capabilities.extensions), tasksKey);
    const extensions = hasTasks ? { ...others, [tasksKey]: {} } : others;
    const isPlain = capabilities.extensions === undefined && !hasTasks;
    return modern.encodeList({
      ...result,
      supportedVersions: (Array.isArray(supportedVersions) ? supportedVersions : []).filter(
        (version) => version === modernVersion || legacyVersions.includes(version),
      ),
      capabilities: isPlain ? capabilities : { ...capabilities, extensions },
    });
  },
};

/** The revision that a request names itself; null: it names none. */
export const versionOf = ({ params }: { readonly params: Fields }): unknown =>
  fieldsOf(params._meta)[versionKey] ?? null;

export const eraOf = (request: Request): Era => (versionOf(request) === modernVersion ? modern : legacy);

/** Characters of a client's name. */
const maxClientName = 128;

/** The name in a client's `clientInfo`, cut; "the client" if it contains none. */
export function nameIn(clientInfo: unknown): string {
  const { name } = fieldsOf(clientInfo);
  return typeof name === 'string' ? name.slice(0, maxClientName) : 'the client';
}

/** The name of the client in a modern request. */
export const clientNameOf = ({ params }: Request): string => nameIn(fieldsOf(params._meta)[clientInfoKey]);

/** The server's name and version in a modern result. */
export const serverInfoOf = (result: Fields): unknown => fieldsOf(result._meta)[serverInfoKey];

export const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

const listChange = /^notifications\/(tools|prompts|resources)\/list_changed$/;
const resourceChange = 'notifications/resources/updated';

/** True for a notification that modern clients get only on a stream that they opened for it. */
export const isChange = (method: string): boolean => method === resourceChange || listChange.test(method);

/** True for the open request of a modern client that awaits the change. */
export function isListening({ method, params }: Request, change: string, { uri }: Fields): boolean {
  if (method !== 'subscriptions/listen') return false;
  const { resourceSubscriptions, ...lists } = fieldsOf(params.notifications);
  if (change === resourceChange)
    return Array.isArray(resourceSubscriptions) && resourceSubscriptions.includes(uri);
  return (lists as Fields)[`${listChange.exec(change)?.[1]}ListChanged`] === true;
}

/** Parameters without the members that only modern servers read. */
export function legacyParams(params: Fields): Fields {
  const meta = without(fieldsOf(params._meta), ...metaKeys);
  const others = without(params, '_meta');
  return Object.keys(meta).length > 0 ? { ...others, _meta: meta } : others;
}

/** A modern server's result as a legacy client reads it. */
export function legacyResult(result: unknown): unknown {
  if (typeof result !== 'object' || result === null || Array.isArray(result)) return result;
  const { resultType, ttlMs, cacheScope, ...others } = modern.decode(result) as Fields & {
    readonly resultType?: unknown;
    readonly ttlMs?: unknown;
    readonly cacheScope?: unknown;
  };
  return others;
}

/** A legacy server's result as a modern client reads it. */
export function modernResult(method: string, result: unknown): Fields {
  const { tools, ...others } = fieldsOf(result) as Fields & { readonly tools?: unknown };
  const bare = Array.isArray(tools)
    ? { ...others, tools: tools.map((tool) => without(fieldsOf(tool), 'execution')) }
    : fieldsOf(result);
  const content = method === 'tools/call' && bare.content === undefined ? { content: [] } : {};
  return {
    ...bare,
    ...content,
    resultType: 'complete',
    ...(cacheableMethods.includes(method) ? { ttlMs: 0, cacheScope: 'private' } : {}),
  };
}
