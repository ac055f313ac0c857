// Reads of the web console beside many events: the data that they need besides events, and their limits with 1,000,000
// of them.
import type { Admin } from '../admin.ts';
import { approvalsOfAgent } from '../suite/approver.ts';
import { HttpCaller } from '../suite/http-call.ts';
import type { Hub } from '../suite/hub.ts';

const bundleCount = 20;
/** Contracts of the document that has decided the explained call. */
const contractCount = 200;
const approvalCount = 500;
const connections = 16;

/** Name, limit of the 95th percentile in milliseconds, what is read, path. */
const reads = [
  ['series', 60, 'series of the contracts with most calls', '/api/v1/stats/series?by=contract&top=20'],
  ['series_of_tools', 60, 'series of five tools', '/api/v1/stats/series?by=tool&top=5'],
  ['overview_compared', 50, 'the overview beside a day before', '/api/v1/stats/overview?compare=previous'],
  ['attention', 100, 'items that need attention', '/api/v1/attention'],
  ['matrix', 60, 'the matrix of the fleet', '/api/v1/fleet/matrix'],
  ['agents_by_drift', 60, 'agents by the time of their drift', '/api/v1/agents?sort=drift_since'],
  ['events_of_query', 150, '100 events of a query', '/api/v1/events?q=verdict:denied%20tool:tool-2'],
  ['facets_of_query', 150, 'facets of a query', '/api/v1/events/facets?q=verdict:denied&since={hour}'],
  [
    'histogram_of_query',
    150,
    'the histogram of a query',
    '/api/v1/events/histogram?q=verdict:denied&since={hour}&until={now}&bucket_seconds=60',
  ],
  ['explain', 150, 'an explained call', '/api/v1/events/{event}/explain'],
  ['approval_groups', 60, `groups of ${approvalCount} approvals`, '/api/v1/approvals/groups'],
  ['search', 60, 'things by name', '/api/v1/search?q=bundle'],
  ['deployments', 50, 'a page of deployments', '/api/v1/deployments'],
] as const;

export const consoleReads = reads.map(([name, atMost, what, path]) => ({
  ...{ name, atMost, what, path, percentile: 95 as const },
  isSlow: path.startsWith('/api/v1/events?') || path.includes('{hour}'),
}));

const documentOf = (name: string, contracts: number): string => {
  const entries = Array.from(
    { length: contracts },
    (_, n) =>
      `  - {id: c${n}, type: pre, tool: read_file, when: {args.path: {contains: .env${n}}}, ` +
      'then: {effect: deny, message: No secrets}}\n',
  );
  const head = ['apiVersion: service/v1', 'kind: ContractBundle', `metadata: { name: ${name} }`];
  return `${head.join('\n')}\ndefaults: { mode: enforce }\ncontracts:\n${entries.join('')}`;
};

/** Sends a request of an agent. */
const send = (caller: HttpCaller, key: string, path: string, agent: string, body: object): Promise<string> =>
  caller.call({
    ...{ method: 'POST', path, body: JSON.stringify(body) },
    headers: {
      ...{ Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      'X-Service-Agent-Id': agent,
    },
  });

async function requestApprovals(caller: HttpCaller, key: string): Promise<void> {
  let next = 0;
  const request = async (): Promise<void> => {
    for (let n = next++; n < approvalCount; n = next++) {
      await send(caller, key, '/api/v1/approvals', `waiting-${Math.floor(n / approvalsOfAgent)}`, {
        tool_name: `tool-${n % 5}`,
        tool_args: { order: `A-${n}`, amount: 100 + n, currency: 'EUR' },
        message: 'May I?',
        timeout: 3_600,
      });
    }
  };
  await Promise.all(Array.from({ length: connections }, request));
}

/**
 * Deploys documents, requests approvals and reports a call that one of the documents has denied.
 * @returns the id of the call's event
 */
export async function fillConsole(hub: Pick<Hub, 'url'>, admin: Admin, key: string): Promise<string> {
  const path = '/api/v1/bundles';
  let policyVersion = '';
  for (let n = 0; n < bundleCount; n += 1) {
    const name = `bundle-${n}`;
    const yaml_content = documentOf(name, n === 0 ? contractCount : 1);
    const saved = await admin.call<{ readonly revision_hash: string }>('POST', path, { yaml_content });
    if (n === 0) policyVersion = saved.revision_hash;
    for (const env of ['development', 'staging', 'production'])
      await admin.call('POST', `${path}/${name}/1/deploy`, { env });
  }
  const last = contractCount - 1;
  const event = {
    ...{ call_id: 'explained', agent_id: 'explained', tool_name: 'read_file', verdict: 'call_denied' },
    ...{ mode: 'enforce', timestamp: new Date().toISOString() },
    payload: {
      decision_name: `c${last}`,
      policy_version: policyVersion,
      tool_args: { path: `/srv/.env${last}` },
    },
  };
  const caller = new HttpCaller(hub.url, connections);
  try {
    await requestApprovals(caller, key);
    await send(caller, key, '/api/v1/events', event.agent_id, { events: [event] });
  } finally {
    caller.close();
  }
  const query = '/api/v1/events?q=call:explained';
  const [stored] = await admin.call<readonly { readonly id: string }[]>('GET', query);
  return stored?.id ?? '';
}
