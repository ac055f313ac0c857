// The main job, as a person and an agent do it, against the real process: set up, key, bundle, stream, deploy, events,
// approval; then kill -9.
import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HubProcess } from './process.ts';
import { SseClient } from './sse.ts';

const yaml = `apiVersion: service/v1
kind: ContractBundle
metadata:
  name: guardrails
defaults:
  mode: enforce
contracts:
  - id: no-secrets
    type: pre
    tool: read_file
    when:
      args.path: { contains: ".env" }
    then:
      effect: deny
      message: "no secrets"
`;

const publicKeyOf = (hex: string) =>
  createPublicKey({
    key: Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), Buffer.from(hex, 'hex')]),
    format: 'der',
    type: 'spki',
  });

describe('the main job', () => {
  const hub = new HubProcess();
  const agent = 'agent-1';
  let cookie = '';
  let key = '';
  let keyId = '';
  let streamHeaders: { [name: string]: string } = {};
  let approvalId = '';

  beforeAll(async () => {
    await hub.start();
  });
  afterAll(async () => {
    await hub.remove();
  });

  it('prints plain first-run instructions', () => {
    expect(hub.output).toContain('/api/v1/setup');
    expect(hub.output).toContain('curl');
  });

  it('sets up the first admin exactly once of parallel calls', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        hub.call('POST', '/api/v1/setup', {
          body: { email: `a${i}@example.com`, password: 'correct horse battery' },
        }),
      ),
    );
    const created = answers.findIndex((answer) => answer.status === 201);
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array(4).fill(409)]);
    cookie = await hub.login(`a${created}@example.com`);
    expect((await hub.call('GET', '/api/v1/auth/me', { cookie })).body).toMatchObject({ is_admin: true });
  });

  it('makes a key, takes a bundle and pushes its deployment, signed, to the connected agent', async () => {
    ({ key, id: keyId } = await hub.key(cookie));
    const uploaded = await hub.call('POST', '/api/v1/bundles', { cookie, body: { yaml_content: yaml } });
    expect(uploaded).toMatchObject({
      status: 201,
      body: { name: 'guardrails', version: 1, signature_hex: null },
    });
    streamHeaders = { Authorization: `Bearer ${key}`, 'X-Service-Agent-Id': agent };
    const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, streamHeaders);
    const deployed = await hub.call('POST', '/api/v1/bundles/guardrails/1/deploy', {
      cookie,
      body: { env: 'production' },
    });
    expect(deployed.status).toBe(201);
    const frame = await stream.next('contract_update');
    const bytes = Buffer.from(frame.data.yaml_bytes, 'base64');
    expect(bytes.toString()).toBe(yaml);
    expect(frame.id).not.toBe('');
    expect(frame.data.revision_hash).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(
      verify(null, bytes, publicKeyOf(frame.data.public_key), Buffer.from(frame.data.signature, 'hex')),
    ).toBe(true);
    const report = await hub.call('POST', '/api/v1/agents/report', {
      key,
      agent,
      body: { bundle_name: 'guardrails', policy_version: frame.data.revision_hash },
    });
    expect(report.status).toBe(200);
    const status = await hub.call('GET', '/api/v1/agents/status', { cookie });
    expect(status.body.agents).toMatchObject([{ agent_id: agent, env: 'production', status: 'current' }]);
    stream.close();
  });

  it('takes a bundle as YAML, byte for byte, and serves it so', async () => {
    const sent = yaml.replace('guardrails', 'as-yaml');
    const headers = { 'Content-Type': 'application/x-yaml' };
    const uploaded = await hub.call('POST', '/api/v1/bundles', { cookie, body: sent, headers });
    expect(uploaded).toMatchObject({ status: 201, body: { name: 'as-yaml', version: 1 } });
    const served = await hub.call('GET', '/api/v1/bundles/as-yaml/1/yaml', { cookie });
    expect(served.headers.get('content-type')).toContain('application/x-yaml');
    expect(served.body).toBe(sent);
  });

  it('takes audit events once and shows them', async () => {
    const event = {
      call_id: 'call-1',
      agent_id: agent,
      tool_name: 'read_file',
      verdict: 'call_denied',
      mode: 'enforce',
      timestamp: new Date().toISOString(),
      payload: { decision_name: 'no-secrets' },
    };
    const first = await hub.call('POST', '/api/v1/events', { key, agent, body: { events: [event] } });
    expect(first).toMatchObject({ status: 200, body: { accepted: 1, duplicates: 0 } });
    const again = await hub.call('POST', '/api/v1/events', { key, agent, body: { events: [event] } });
    expect(again.body).toEqual({ accepted: 0, duplicates: 1 });
    const found = await hub.call('GET', '/api/v1/events?search=SECRETS', { cookie });
    expect(found.body).toMatchObject([{ call_id: 'call-1', verdict: 'call_denied' }]);
  });

  it('holds an approval until a person decides, and the agent hears it', async () => {
    const stream = await SseClient.open(
      `${hub.url}/api/v1/stream?env=production&bundle_name=guardrails`,
      streamHeaders,
    );
    const dashboard = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: cookie });
    const asked = await hub.call('POST', '/api/v1/approvals', {
      key,
      agent,
      body: {
        agent_id: agent,
        tool_name: 'deploy',
        tool_args: { target: 'x' },
        message: 'may I?',
        timeout: 60,
      },
    });
    expect(asked).toMatchObject({ status: 201, body: { status: 'pending', env: 'production' } });
    approvalId = asked.body.id;
    await dashboard.next('approval_created');
    const decided = await hub.call('PUT', `/api/v1/approvals/${approvalId}`, {
      cookie,
      body: { approved: true, reason: 'fine' },
    });
    expect(decided).toMatchObject({ status: 200, body: { status: 'approved', decision_reason: 'fine' } });
    expect((await stream.next('approval_decided')).data).toMatchObject({
      approval_id: approvalId,
      status: 'approved',
    });
    expect((await dashboard.next('approval_decided')).data).toMatchObject({ approval_id: approvalId });
    const twice = await hub.call('PUT', `/api/v1/approvals/${approvalId}`, {
      cookie,
      body: { approved: false },
    });
    expect(twice.status).toBe(409);
    stream.close();
    dashboard.close();
  });

  it('times an approval out, never early, and tells the dashboards', async () => {
    const dashboard = await SseClient.open(`${hub.url}/api/v1/stream/dashboard`, { Cookie: cookie });
    const started = performance.now();
    const asked = await hub.call('POST', '/api/v1/approvals', {
      key,
      agent,
      body: { agent_id: agent, tool_name: 'deploy', message: 'quick', timeout: 1 },
    });
    const frame = await dashboard.next('approval_timeout');
    const took = performance.now() - started;
    expect(frame.data).toMatchObject({ approval_id: asked.body.id, agent_id: agent, tool_name: 'deploy' });
    expect(took).toBeGreaterThanOrEqual(999);
    expect(took).toBeLessThan(3100);
    dashboard.close();
  });

  it('has everything still there after kill -9', async () => {
    await hub.kill();
    await hub.start();
    expect((await hub.call('GET', '/api/v1/auth/me', { cookie })).status).toBe(200);
    expect((await hub.call('GET', '/api/v1/events', { key })).body).toMatchObject([{ call_id: 'call-1' }]);
    expect((await hub.call('GET', `/api/v1/approvals/${approvalId}`, { key })).body.status).toBe('approved');
    const current = await hub.call('GET', '/api/v1/bundles/guardrails/current?env=production', { key });
    expect(Buffer.from(current.body.yaml_bytes, 'base64').toString()).toBe(yaml);
    const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, streamHeaders);
    expect((await stream.next('contract_update')).data.bundle_name).toBe('guardrails');
    stream.close();
  });

  it('ends the live streams of a revoked key within a second', async () => {
    const stream = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, streamHeaders);
    expect((await hub.call('DELETE', `/api/v1/keys/${keyId}`, { cookie })).status).toBe(204);
    await stream.end(1000);
    const refused = await SseClient.open(`${hub.url}/api/v1/stream?env=production`, streamHeaders);
    expect(refused.status).toBe(401);
  });

  it('stops on SIGTERM with exit code 0', async () => {
    expect(await hub.stop()).toBe(0);
  });
});
