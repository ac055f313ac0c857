// Every GET of a filled hub and its reply, as text: what a store contains, as clients see it.
import type { Caller } from '../../src/http/contract/call.ts';
import { Streamed } from '../../src/http/contract/call.ts';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { HubError } from '../../src/shared/error.ts';
import type { CallInput, Operation, TestHub, UserCaller } from '../harness.ts';

export interface RecordedReply {
  readonly operation: Operation;
  readonly as: 'user' | 'key' | 'hostedKey' | 'hostedOperator' | 'operator' | 'none';
  readonly input: CallInput;
  /** The body; an error's code. */
  readonly reply: string;
}

/** Replies that are not about a store's records, or contain new random bytes. */
const excluded = new Set<string>([
  ...['health', 'live', 'ready', 'healthCluster', 'healthMetrics', 'healthSeries', 'healthDetails'],
  'hostedHealth',
  ...['oidcSignIn', 'oidcCallback', 'signInMethods', 'workspaceChatManifest'],
  // A sealed file with a new key.
  'exportTenant',
]);
/** Reads that write an entry into the audit chain: after all others, that of the chain first. */
const audited = [
  'exportAuditLines',
  'exportEvents',
  'exportEventLines',
  'exportApprovalLines',
  'hostedRunBundle',
];

const isRead = ([name, route]: readonly [string, RouteDeclaration]): boolean =>
  route.method === 'GET' && route.media !== 'text/event-stream' && !excluded.has(name);

export const readRoutes = Object.entries({ ...api, ...hostedApi })
  .filter(isRead)
  .sort(([a], [b]) => audited.indexOf(a) - audited.indexOf(b)) as unknown as readonly (readonly [
  Operation,
  RouteDeclaration,
])[];

/** A caller of each kind; its own type of tenant. */
export function callersOf(t: TestHub, user: UserCaller): { readonly [As in RecordedReply['as']]: Caller } {
  return {
    user,
    key: t.key(user),
    hostedKey: t.hostedKey(user),
    hostedOperator: t.operator(user),
    operator: { kind: 'operator' },
    none: { kind: 'none' },
  };
}

const callerFor = ({ auth }: RouteDeclaration): RecordedReply['as'] => {
  if (auth.includes('cookie')) return 'user';
  if (auth.includes('operatorJwt')) return 'hostedOperator';
  if (auth.includes('hostedKey')) return 'hostedKey';
  if (auth.includes('key')) return 'key';
  return auth.includes('operatorToken') ? 'operator' : 'none';
};

/** Cursors of exports are sealed: each has other bytes. */
const withoutCursors = (text: string): string => text.replaceAll(/"cursor":"[^"]*"/g, '"cursor":""');

/** The reply as text; of an error its code. */
export async function replyOf(
  t: TestHub,
  callers: ReturnType<typeof callersOf>,
  { operation, input, as }: Omit<RecordedReply, 'reply'>,
): Promise<string> {
  try {
    const { body } = (await t.call(operation, input, callers[as])) as { readonly body: unknown };
    if (body instanceof Uint8Array) return Buffer.from(body).toString();
    if (typeof body === 'string') return withoutCursors(body);
    return body instanceof Streamed ? await textOf(body) : JSON.stringify(body);
  } catch (error) {
    if (error instanceof HubError) return error.code;
    throw error;
  }
}

async function textOf({ pieces, ended }: Streamed): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for (let next = await pieces.next(); !next.done; next = await pieces.next())
    text += typeof next.value === 'string' ? next.value : decoder.decode(next.value);
  ended();
  return text;
}

async function pinId(t: TestHub, user: UserCaller): Promise<string> {
  const { body } = await t.call('listToolPins', { query: { env: 'production' } }, user);
  return body.tools[0]?.id ?? '';
}

/** Ids by the name of a path's parameter. */
async function idsOf(t: TestHub, user: UserCaller): Promise<{ readonly [name: string]: string }> {
  const first = async (
    operation: Operation,
    input: CallInput = {},
  ): Promise<{ readonly [name: string]: string }> => {
    const { body } = (await t.call(operation, input, user)) as { readonly body: unknown };
    const [row] = Array.isArray(body) ? body : (Object.values(body as object).find(Array.isArray) ?? []);
    return row ?? {};
  };
  const id = async (operation: Operation, input?: CallInput) => (await first(operation, input)).id ?? '';
  return {
    agent_id: 'agent-1',
    session_id: 'session-0',
    contract_id: 'no-secrets',
    version: '1',
    key: 'counts/a',
    env: 'production',
    tenant_id: user.tenantId,
    user_id: user.userId,
    account_id: await id('listServiceAccounts'),
    channel_id: await id('listChannels'),
    deployment_id: await id('listDeployments'),
    approval_id: await id('listApprovals'),
    event_id: await id('searchEvents'),
    pin_id: await pinId(t, user),
  };
}

/** Values of queries without which a route refuses, or returns little. */
function queryOf(
  name: string,
  { query }: RouteDeclaration,
  now: number,
): { readonly [name: string]: string } {
  const at = (ms: number): string => new Date(now + ms).toISOString();
  const values: { readonly [name: string]: string } = {
    since: at(-12 * 3_600_000),
    until: at(3_600_000),
    bucket_seconds: '3600',
    session_id: name === 'hostedWorkflowState' ? 'session-0' : '',
    server: 'files',
    queue: 'purge',
    q: name === 'searchThings' ? 'agent' : '',
    limit: '100',
    candidate: '2',
    base: '1',
  };
  const names = Object.keys(query?.shape ?? {});
  const required = ['env', 'environment']
    .filter((one) => name.startsWith('hostedReplay') || one === 'env')
    .filter((one) => names.includes(one));
  return {
    ...Object.fromEntries(names.flatMap((one) => (values[one] ? [[one, values[one]]] : []))),
    ...Object.fromEntries(required.map((one) => [one, 'production'])),
  };
}

export async function recordReplies(t: TestHub, user: UserCaller): Promise<readonly RecordedReply[]> {
  const ids = await idsOf(t, user);
  const callers = callersOf(t, user);
  const recorded: RecordedReply[] = [];
  for (const [operation, route] of readRoutes) {
    const names = [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, name]) => name ?? '');
    const isComposition = route.path.includes('/compositions/');
    const nameOf = (name: string): string =>
      name === 'name' ? (isComposition ? 'composed' : 'base') : (ids[name] ?? '');
    const params = Object.fromEntries(names.map((name) => [name, nameOf(name)]));
    const query = queryOf(operation, route, t.clock.now());
    const request = { operation, as: callerFor(route), input: { params, query } };
    recorded.push({ ...request, reply: await replyOf(t, callers, request) });
    if (operation !== 'listApprovals') continue;
    for (const { id } of JSON.parse(recorded.at(-1)?.reply ?? '[]')) {
      const one = { operation: 'getApproval', as: 'user', input: { params: { approval_id: id } } } as const;
      recorded.push({ ...one, reply: await replyOf(t, callers, one) });
    }
  }
  return recorded;
}
