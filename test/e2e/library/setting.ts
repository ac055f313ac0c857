// A hub, a key, contracts to deploy, guards, and the stored events: parts that every test of the library against the
// real hub process needs.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ConnectOptions, Guard } from 'reeve-agent';
import { HubProcess } from '../process.ts';

/** Contracts that deny this word, and ask before a deploy. @param approval more of the approval's `then` */
export const yamlFor = (word: string, approval = 'timeout: 60'): string => `apiVersion: service/v1
kind: ContractBundle
metadata: { name: guardrails }
defaults: { mode: enforce }
contracts:
  - id: no-${word}
    type: pre
    tool: "*"
    when: { args.text: { contains: ${word} } }
    then: { effect: deny, message: "no ${word}" }
  - id: enough
    type: session
    limits: { max_tool_calls: 5000, max_attempts: 5000 }
    then: { effect: deny, message: "enough" }
  - id: ask
    type: pre
    tool: deploy
    when: { args.target: { exists: true } }
    then: { effect: approve, message: "deploy to {args.target}?", ${approval} }
`;

export class Setting {
  readonly hub: HubProcess;
  readonly folder = mkdtempSync(join(tmpdir(), 'reeve-library-'));
  readonly #guards: Guard[] = [];
  cookie = '';
  key = '';
  keyId = '';

  /** @param hub default: one of its own, which the tests may end */
  constructor(hub: HubProcess = new HubProcess({ LOG_LEVEL: 'warn' })) {
    this.hub = hub;
  }

  /** A hub with an admin, a key, and contracts that deny `one`. */
  async open(): Promise<void> {
    await this.hub.start();
    this.cookie = await this.hub.admin();
    ({ key: this.key, id: this.keyId } = await this.hub.key(this.cookie));
    await this.deploy(yamlFor('one'));
  }

  /** Ends what the test left open. */
  async clear(): Promise<void> {
    await Promise.all(this.#guards.splice(0).map((guard) => guard.close().catch(() => {})));
  }

  async close(): Promise<void> {
    await this.clear();
    await this.hub.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  async deploy(yaml: string): Promise<void> {
    const { cookie } = this;
    const uploaded = await this.hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
    const deployed = await this.hub.call(
      'POST',
      `/api/v1/bundles/${uploaded.body.name}/${uploaded.body.version}/deploy`,
      { cookie, body: { env: 'production' } },
    );
    if (deployed.status !== 201)
      throw new Error(`deploy: ${deployed.status} ${JSON.stringify(deployed.body)}`);
  }

  /** A connected guard, closed by `clear`. */
  async guard(options: Partial<ConnectOptions> = {}): Promise<Guard> {
    const guard = await Guard.connect({
      url: this.hub.url,
      apiKey: this.key,
      agentId: 'agent-1',
      bundleName: 'guardrails',
      openTelemetry: null,
      ...options,
    });
    this.#guards.push(guard);
    return guard;
  }

  /** Resolves when the hub has this agent's stream open. */
  async connected(agent: string): Promise<void> {
    for (;;) {
      const { body } = await this.hub.call('GET', '/api/v1/agents/status', { cookie: this.cookie });
      if (body.agents.some(({ agent_id }: { agent_id: string }) => agent_id === agent)) return;
    }
  }

  /** Every call the hub has of an agent, and all that was reported of it, in order. */
  async stored(agent = 'agent-1'): Promise<Map<string, string[]>> {
    const path = `/api/v1/events?limit=1000&agent_id=${agent}`;
    const { body } = await this.hub.call('GET', path, { cookie: this.cookie });
    const events = body as { call_id: string; verdict: string; outcomes: { verdict: string }[] }[];
    const calls = new Map(
      events.map(({ call_id, verdict, outcomes }) => [call_id, [verdict, ...outcomes.map((o) => o.verdict)]]),
    );
    if (calls.size !== events.length) throw new Error('a call is stored twice');
    return calls;
  }
}

/** True if a guard's contracts deny this word. */
export const denies = (guard: Guard, word: string): boolean =>
  guard.evaluate('say', { text: word }).verdict === 'deny';

/** The same of a guard's own records: what the hub must have when nothing was lost. */
export function recorded(guard: Guard): Map<string, string[]> {
  const calls = new Map<string, string[]>();
  for (const { call_id, action } of guard.events.events) {
    calls.set(call_id, [...(calls.get(call_id) ?? []), action]);
  }
  return calls;
}
