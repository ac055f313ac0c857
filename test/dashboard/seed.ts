// A hub with something to look at: contracts, a composition that is deployed, agents that connect, events, and calls
// that wait.
import { createHash } from 'node:crypto';
import { fingerprintOf, readToolList } from 'reeve-agent/rules';
import type { HubProcess } from '../e2e/process.ts';
import { AgentStreams } from './agent-streams.ts';
import { ask } from './browser.ts';

export const library = `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: shop
  description: What the agents of the shop may do
defaults:
  mode: enforce
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path: { contains_any: [".env", "id_rsa"] }
    then:
      effect: deny
      message: "Secrets stay where they are: {args.path}"
      tags: [secrets]
  - id: ask-before-deploy
    type: pre
    tool: deploy
    when:
      environment: { equals: production }
    then:
      effect: approve
      message: "Deploy {args.service} to production?"
      timeout: 300
      tags: [change]
  - id: watch-refunds
    type: pre
    mode: observe
    tool: refund
    when:
      args.amount: { gt: 500 }
    then:
      effect: deny
      message: "A refund of {args.amount} is large"
      tags: [money]
`;

async function must(
  hub: HubProcess,
  method: string,
  path: string,
  options: Parameters<HubProcess['call']>[2],
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
): Promise<any> {
  const { status, body } = await hub.call(method, path, options);
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Reports the tool read_file of the server npx:files, as an agent that connects to it. */
export async function reportTool(hub: HubProcess, key: string, description: string): Promise<void> {
  const { tools: list } = readToolList([{ name: 'read_file', description, inputSchema: { type: 'object' } }]);
  const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
  const reported = list.map(({ name, definition }) => ({
    ...{ name, definition },
    fingerprint: fingerprintOf(definition, sha256),
  }));
  const body = { agent_id: 'a', server: 'npx:files', tools: reported };
  await must(hub, 'POST', '/api/v1/tool-observations', { key, body });
}

const tools = ['read_file', 'deploy', 'refund', 'search_docs', 'send_mail'];
const verdicts = [
  'call_allowed',
  'call_allowed',
  'call_allowed',
  'call_allowed',
  'call_denied',
  'call_would_deny',
];

/** Events of the last day, the same every time but for their hour. */
export function someEvents(count: number): object[] {
  return Array.from({ length: count }, (_, index) => {
    const tool = tools[(index * 7) % tools.length] ?? 'deploy';
    const verdict = verdicts[(index * 5) % verdicts.length] ?? 'call_allowed';
    return {
      call_id: `call-${index}`,
      agent_id: `shop-agent-${index % 6}`,
      tool_name: tool,
      verdict,
      mode: verdict === 'call_would_deny' ? 'observe' : 'enforce',
      timestamp: new Date(Date.now() - ((index * 7919) % 86_000) * 1000).toISOString(),
      payload: {
        tool_args:
          tool === 'deploy'
            ? { service: 'checkout', command: 'kubectl rollout restart deploy/checkout' }
            : tool === 'refund'
              ? { amount: 120 + index, order: `A-${1000 + index}` }
              : { path: `/srv/shop/file-${index}.ts` },
        session_id: `session-${index % 9}`,
        decision_source: verdict === 'call_allowed' ? null : 'pre',
        decision_name: verdict === 'call_allowed' ? null : 'no-secrets',
        reason: verdict === 'call_allowed' ? null : 'Secrets stay where they are',
        policy_version: 'a'.repeat(64),
        contracts_evaluated: [
          { id: 'no-secrets', type: 'pre', fired: verdict !== 'call_allowed', effect: 'deny' },
        ],
      },
    };
  });
}

/** @returns addresses below /dashboard worth a picture, by name */
export async function seed(hub: HubProcess, cookie: string): Promise<{ readonly [name: string]: string }> {
  await must(hub, 'POST', '/api/v1/contracts/import', { cookie, body: { yaml_content: library } });
  await must(hub, 'POST', '/api/v1/compositions/shop/deploy', { cookie, body: { env: 'production' } });
  await must(hub, 'POST', '/api/v1/compositions/shop/deploy', { cookie, body: { env: 'staging' } });
  const { key } = await hub.key(cookie);
  const events = someEvents(600);
  await must(hub, 'POST', '/api/v1/events', { key, agent: 'shop-agent-0', body: { events } });
  const agents = new AgentStreams(hub, key);
  for (let n = 0; n < 6; n += 1) await agents.open(`shop-agent-${n}`);
  await ask(
    hub,
    key,
    {
      tool_name: 'deploy',
      message: 'Deploy checkout to production?',
      contract_name: 'ask-before-deploy',
      timeout: 300,
      tool_args: { service: 'checkout', command: 'kubectl rollout restart deploy/checkout' },
    },
    'shop-agent-1',
  );
  const edit = await ask(
    hub,
    key,
    {
      tool_name: 'edit_file',
      message: 'This file is part of the payment flow.',
      timeout: 45,
      tool_args: {
        path: '/srv/shop/pay.ts',
        old_string: 'const limit = 500;',
        new_string: 'const limit = 5_000;\nconst audited = true;',
      },
    },
    'shop-agent-2',
  );
  const refund = await ask(
    hub,
    key,
    {
      tool_name: 'refund',
      message: 'A refund of 900 is large',
      timeout: 900,
      tool_args: { amount: 900, order: 'A-1001', currency: 'EUR' },
    },
    'shop-agent-3',
  );
  await must(hub, 'PUT', `/api/v1/approvals/${refund}`, {
    cookie,
    body: { approved: false, reason: 'Ask the customer for the receipt first' },
  });
  const { token } = await must(hub, 'POST', '/api/v1/auth/operator-token', { cookie });
  await fetch(`${hub.url}/v1/sample-run`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  const channel = await must(hub, 'POST', '/api/v1/notifications/channels', {
    cookie,
    body: {
      name: 'On call',
      channel_type: 'chat_bot',
      config: { bot_token: '12:a-token', chat_id: '-42', allowed_user_ids: ['1', '2'] },
      filters: { environments: ['production'], agent_patterns: ['shop-*'] },
      enabled: false,
    },
  });
  for (const [name, value] of [
    ['attempts', '14'],
    ['execs', '11'],
    ['tool:deploy', '3'],
  ])
    await must(hub, 'PUT', `/api/v1/sessions/s:sample-session:${name}`, { key, body: { value } });
  const [event] = await must(hub, 'GET', '/api/v1/events?tool_name=deploy&limit=1', { cookie });
  return {
    'approvals-one': `/approvals/${edit}`,
    'approval-page': `/approvals/${edit}`,
    'approvals-history': '/inbox?view=decided',
    'events-one': `/events/${event.id}`,
    'events-tail': '/explore?view=tail',
    'contract-one': '/contracts/ask-before-deploy',
    'composition-one': '/compositions/shop',
    'bundle-one': '/bundles/shop',
    'agent-one': '/agents/shop-agent-1',
    'agent-rules': '/fleet?view=assignment',
    'run-one': '/runs/sample-agent/sample-session',
    'ruleset-one': '/rulesets/sample-guardrails',
    'channel-one': `/admin/channels/${channel.id}`,
  };
}
